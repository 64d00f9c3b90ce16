// SPDX-License-Identifier: MIT

#include "dist/peer_monitor.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "barlow/core/text.h"

namespace barlow::dist::detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBeat{400};
constexpr milliseconds kWatch{1600};   // four beats
constexpr milliseconds kPublish{800};  // two beats: all have read the verdict
constexpr milliseconds kAnswer{4500};  // a rank's wait for its own thread
constexpr milliseconds kFarewell{1000};

constexpr const char* kVerdict = "monitor/verdict";

std::string beat_key(int rank) {
  return "monitor/beat/" + std::to_string(rank);
}

std::string failure_key(int rank) {
  return "monitor/failed/" + std::to_string(rank);
}

std::vector<std::uint8_t> to_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace

// Shared with the thread, which may have to be left behind: a store whose host
// hangs never answers.
struct PeerMonitor::State {
  State(c10::intrusive_ptr<c10d::Store> used_store, Options own)
      : store(std::move(used_store)), options(std::move(own)) {}

  void run() {
    try {
      while (!stopping()) {
        beat();
        const std::string found = read(kVerdict);
        if (!found.empty()) {
          conclude(found);
        } else if (is_asked()) {
          investigate();
        }
      }
    } catch (const std::exception&) {
      conclude(options.store_host + " cannot be reached: it has died or hangs");
    }
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }

  void beat() {
    store->add(beat_key(options.rank), 1);
    std::unique_lock lock(mutex);
    const bool asked_before = asked;
    changed.wait_for(lock, kBeat, [&] {
      return stop || asked != asked_before || !failure.empty();
    });
    const std::string reason = std::exchange(failure, "");
    lock.unlock();
    if (!reason.empty()) {
      store->set(failure_key(options.rank), to_bytes(reason));
      lock.lock();
      failure_sent = true;
      changed.notify_all();
    }
  }

  void investigate() {
    std::string verdict_text = announced_failures();
    if (verdict_text.empty()) {
      const std::vector<std::int64_t> before = beats();
      for (milliseconds waited{0}; waited < kWatch; waited += kBeat) {
        beat();
      }
      const std::string late = read(kVerdict);
      verdict_text = late.empty() ? judge(before, beats()) : late;
    }
    store->set(kVerdict, to_bytes(verdict_text));
    for (milliseconds waited{0}; waited < kPublish; waited += kBeat) {
      beat();
    }
    conclude(verdict_text);
  }

  std::string announced_failures() {
    std::vector<std::string> texts;
    for (int rank = 0; rank < options.size; ++rank) {
      const std::string reason = read(failure_key(rank));
      if (!reason.empty()) {
        texts.push_back("rank " + std::to_string(rank) + " failed: " + reason);
      }
    }
    return join(texts, "; ");
  }

  std::string judge(
      const std::vector<std::int64_t>& before,
      const std::vector<std::int64_t>& after) {
    const std::string failures = announced_failures();
    if (!failures.empty()) {
      return failures;
    }
    std::vector<std::string> silent;
    for (std::size_t rank = 0; rank < before.size(); ++rank) {
      if (before[rank] == after[rank]) {
        silent.push_back("rank " + std::to_string(rank));
      }
    }
    if (silent.empty()) {
      return "all ranks are alive: one is slower than the time-out allows, or "
             "a connection between two of them is broken";
    }
    return join(silent) +
           (silent.size() == 1 ? " has died or hangs" : " have died or hang");
  }

  std::vector<std::int64_t> beats() {
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < options.size; ++rank) {
      counts.push_back(store->add(beat_key(rank), 0));
    }
    return counts;
  }

  // "" where there is none: `get` would wait for it.
  std::string read(const std::string& key) {
    if (!store->check({key})) {
      return {};
    }
    const std::vector<std::uint8_t> bytes = store->get(key);
    return {bytes.begin(), bytes.end()};
  }

  void conclude(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (verdict.empty()) {
      verdict = text;
    }
    changed.notify_all();
  }

  bool stopping() {
    const std::lock_guard lock(mutex);
    return stop || !verdict.empty();
  }

  bool is_asked() {
    const std::lock_guard lock(mutex);
    return asked;
  }

  c10::intrusive_ptr<c10d::Store> store;
  const Options options;
  std::mutex mutex;
  std::condition_variable changed;
  std::string verdict;
  std::string failure;
  bool failure_sent = false;
  bool asked = false;
  bool stop = false;
  bool ended = false;
};

PeerMonitor::PeerMonitor(c10::intrusive_ptr<c10d::Store> store, Options options)
    : state_(std::make_shared<State>(std::move(store), std::move(options))),
      thread_([state = state_] { state->run(); }) {}

PeerMonitor::~PeerMonitor() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  const bool ended =
      state_->changed.wait_for(lock, kFarewell, [&] { return state_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void PeerMonitor::announce_failure(const std::string& reason) {
  std::unique_lock lock(state_->mutex);
  state_->failure = reason.empty() ? "unknown reason" : reason;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kFarewell, [&] {
    return state_->failure_sent || state_->ended;
  });
}

std::string PeerMonitor::diagnose() {
  std::unique_lock lock(state_->mutex);
  state_->asked = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, kAnswer, [&] {
    return !state_->verdict.empty() || state_->ended;
  });
  return state_->verdict.empty()
             ? state_->options.store_host + " does not answer"
             : state_->verdict;
}

}  // namespace barlow::dist::detail
