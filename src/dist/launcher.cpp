// SPDX-License-Identifier: MIT

#include "barlow/dist/launcher.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>

#include <c10/util/Exception.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "barlow/core/error.h"

namespace barlow::dist {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::chrono::milliseconds kPoll{20};

// A vector of C strings that ends with a null pointer, as exec wants it.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) {
    result.push_back(text.data());
  }
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of_rank(
    const LaunchOptions& options,
    int rank,
    std::uint16_t port) {
  const std::vector<std::pair<std::string, std::string>> own{
      {"RANK", std::to_string(rank)},
      {"LOCAL_RANK", std::to_string(rank)},
      {"WORLD_SIZE", std::to_string(options.ranks)},
      {"LOCAL_WORLD_SIZE", std::to_string(options.ranks)},
      {"MASTER_ADDR", kLoopback},
      {"MASTER_PORT", std::to_string(port)},
      {"TORCHELASTIC_USE_AGENT_STORE", "True"},
      {"TORCHELASTIC_RESTART_COUNT", "0"}};
  std::vector<std::string> result;
  for (const std::string& entry : options.environment) {
    const std::string name = entry.substr(0, entry.find('='));
    const bool replaced = std::any_of(own.begin(), own.end(), [&](auto& pair) {
      return pair.first == name;
    });
    if (!replaced) {
      result.push_back(entry);
    }
  }
  for (const auto& [name, value] : own) {
    result.push_back(name);
    result.back().append("=").append(value);
  }
  return result;
}

pid_t start(const LaunchOptions& options, int rank, std::uint16_t port) {
  std::vector<std::string> command{options.program};
  command.insert(command.end(), options.command.begin(), options.command.end());
  std::vector<std::string> environment =
      environment_of_rank(options, rank, port);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int error = posix_spawn(
      &process,
      options.program.c_str(),
      nullptr,
      &attributes,
      pointers(command).data(),
      pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    fail(
        options.program,
        ": cannot be started as rank ",
        rank,
        ": ",
        std::generic_category().message(error));
  }
  return process;
}

class Ranks {
 public:
  Ranks(const LaunchOptions& options, const LaunchMessage& message)
      : options_(options), message_(message) {}
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  Ranks(Ranks&&) = delete;
  Ranks& operator=(Ranks&&) = delete;

  // Whatever is left when an exception passes.
  ~Ranks() {
    signal_all(SIGKILL);
    for (pid_t& process : processes_) {
      if (process > 0) {
        ::waitpid(process, nullptr, 0);
      }
    }
  }

  void start_all(std::uint16_t port) {
    for (int rank = 0; rank < options_.ranks; ++rank) {
      processes_.push_back(start(options_, rank, port));
    }
  }

  int wait(const std::atomic<bool>& stop) {
    bool stopped = false;
    bool killed = false;
    while (reap()) {
      if (stop.load() && !stopped) {
        signal_all(SIGTERM);
        stopped = true;
      }
      if (!killed && Clock::now() > deadline_) {
        message_("the ranks that are left do not end and are killed");
        signal_all(SIGKILL);
        killed = true;
      }
      std::this_thread::sleep_for(kPoll);
    }
    return code_;
  }

 private:
  // Whether ranks are left.
  bool reap() {
    bool running = false;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      pid_t& process = processes_[rank];
      int status = 0;
      if (process <= 0) {
        continue;
      }
      if (::waitpid(process, &status, WNOHANG) != process) {
        running = true;
        continue;
      }
      process = 0;
      note_end(rank, status);
    }
    return running;
  }

  void note_end(std::size_t rank, int status) {
    const bool killed = WIFSIGNALED(status);
    const int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (killed) {
      message_(
          "rank " + std::to_string(rank) + " of " +
          std::to_string(options_.ranks) + " was ended by signal " +
          std::to_string(WTERMSIG(status)) + " (" +
          strsignal(WTERMSIG(status)) + ")");
    }
    if (code != 0 && code != options_.interrupted_code) {
      deadline_ = std::min(
          deadline_,
          Clock::now() + (killed ? options_.grace : options_.settle));
    }
    if (code_ == 0) {
      code_ = code;
    }
  }

  void signal_all(int signal) {
    for (const pid_t process : processes_) {
      if (process > 0) {
        ::kill(process, signal);
      }
    }
  }

  const LaunchOptions& options_;
  const LaunchMessage& message_;
  std::vector<pid_t> processes_;  // 0: has ended
  int code_ = 0;
  Clock::time_point deadline_ = Clock::time_point::max();  // to kill the rest
};

}  // namespace

int launch_local_ranks(
    const LaunchOptions& options,
    const std::atomic<bool>& stop,
    const LaunchMessage& message) {
  TORCH_CHECK_VALUE(
      options.ranks >= 1,
      "launch_local_ranks: ranks must be at least 1, got ",
      options.ranks);
  c10d::TCPStoreOptions store_options;
  store_options.port = 0;
  store_options.isServer = true;
  store_options.waitWorkers = false;
  c10d::TCPStore store(kLoopback, store_options);
  Ranks ranks(options, message);
  ranks.start_all(store.getPort());
  return ranks.wait(stop);
}

}  // namespace barlow::dist
