// SPDX-License-Identifier: MIT

#include "barlow/ranks.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "barlow/commands.h"
#include "barlow/core/error.h"
#include "barlow/dist/launcher.h"
#include "barlow/flag_checks.h"
#include "barlow/machine.h"
#include "barlow/signals.h"

namespace barlow::app {
namespace {

// Tells a rank that its launcher is this program.
constexpr const char* kLaunchedHere = "BARLOW_LAUNCHER";

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

bool launched_here() {
  return environment_value(kLaunchedHere).has_value();
}

// The program's own arguments, exactly: a shell may have had its say before.
std::vector<std::string> own_arguments() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  std::string argument;
  while (std::getline(stream, argument, '\0')) {
    arguments.push_back(argument);
  }
  if (arguments.empty()) {
    fail("/proc/self/cmdline: cannot be read, which --ranks needs");
  }
  arguments.erase(arguments.begin());
  return arguments;
}

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0) {
    fail("/proc/self/exe: cannot be read, which --ranks needs");
  }
  return {path.data(), static_cast<std::size_t>(length)};
}

}  // namespace

void RankFlags::add_to(CLI::App& command, Launching launching) {
  command_ = &command;
  const std::string group = "Ranks";
  if (launching == Launching::kHere) {
    command.add_option("--ranks", ranks_, "start W ranks on this machine")
        ->type_name("W")
        ->check(in_range(1, 1024))
        ->group(group);
  }
  command
      .add_option(
          "--rank",
          rank_,
          "number of this process, when started by hand; torchrun, mpirun and "
          "srun tell it themselves")
      ->type_name("R")
      ->check(in_range(0, 1e9))
      ->group(group);
  command.add_option("--world-size", world_size_, "how many ranks there are")
      ->type_name("W")
      ->check(in_range(1, 1e9))
      ->group(group);
  command
      .add_option("--local-rank", local_rank_, "number among this machine's")
      ->type_name("R")
      ->check(in_range(0, 1e9))
      ->group(group);
  command
      .add_option(
          "--local-size",
          local_size_,
          "how many of the ranks share this machine's cores")
      ->type_name("W")
      ->check(in_range(1, 1e9))
      ->group(group);
  command.add_option("--master-addr", host_, "address of rank 0's machine")
      ->type_name("HOST")
      ->group(group);
  command.add_option("--master-port", port_, "a free port there")
      ->check(in_range(1, 65535))
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--timeout-s",
          timeout_s_,
          "how long a rank waits for the others before it gives up")
      ->check(in_range(1.0, 1e6))
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--interface",
          interface_,
          "network interface for CPU ranks, such as eth0; default: the one "
          "that leads to rank 0")
      ->type_name("NAME")
      ->group(group);
}

bool RankFlags::is_given(const char* flag) const {
  return command_->count(flag) > 0;
}

dist::Rendezvous RankFlags::from_flags() const {
  for (const char* flag : {"--rank", "--world-size", "--master-addr"}) {
    if (!is_given(flag)) {
      fail<UsageError>(
          flag,
          ": not found, expected with --rank, --world-size and --master-addr, "
          "which belong together");
    }
  }
  dist::Rendezvous result;
  result.rank = rank_;
  result.world_size = world_size_;
  result.local_rank = local_rank_;
  result.local_size = local_size_;
  result.host = host_;
  result.port = static_cast<std::uint16_t>(port_);
  dist::validate(result);
  return result;
}

std::optional<dist::Rendezvous> RankFlags::rendezvous() const {
  if (launched_here()) {
    // The launcher's end, however it comes, ends this rank in good order.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  }
  if (is_given("--rank") || is_given("--world-size") ||
      is_given("--master-addr")) {
    return from_flags();
  }
  auto result = dist::rendezvous_from_environment(environment_value);
  if (result && launched_here()) {
    result->launcher = "barlow --ranks";
  }
  return result;
}

bool RankFlags::launches() const {
  if (!is_given("--ranks") || launched_here()) {
    return false;
  }
  const auto already = rendezvous();
  if (already) {
    fail<UsageError>(
        "--ranks: this process is already rank ",
        already->rank,
        " of ",
        already->world_size,
        " by ",
        already->launcher,
        "; leave --ranks out");
  }
  return ranks_ > 1;
}

dist::ConnectOptions RankFlags::connect_options(torch::Device device) const {
  const std::chrono::duration<double> timeout(timeout_s_);
  return {
      .device = device,
      .timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout),
      .interface = interface_.empty()
                       ? environment_value("GLOO_SOCKET_IFNAME").value_or("")
                       : interface_};
}

std::string name_rank(
    const dist::Rendezvous& rendezvous,
    const std::string& message) {
  if (message.starts_with("rank ")) {
    return message;
  }
  std::string named = "rank ";
  named.append(std::to_string(rendezvous.rank))
      .append(" of ")
      .append(std::to_string(rendezvous.world_size))
      .append(": ")
      .append(message);
  return named;
}

int launch_ranks(int ranks) {
  dist::LaunchOptions options;
  options.ranks = ranks;
  options.program = own_path();
  options.command = own_arguments();
  options.interrupted_code = kExitInterrupted;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    options.environment.emplace_back(*entry);
  }
  options.environment.push_back(std::string(kLaunchedHere) + "=1");
  if (!environment_value("OMP_WAIT_POLICY")) {
    // Threads that wait by spinning take the cores of ranks that work.
    options.environment.emplace_back("OMP_WAIT_POLICY=passive");
  }
  return dist::launch_local_ranks(
      options,
      stop_on_signals(),
      [](const std::string& message) { print_error(message); });
}

}  // namespace barlow::app
