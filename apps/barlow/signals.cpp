// SPDX-License-Identifier: MIT

#include "barlow/signals.h"

#include <csignal>

namespace barlow::app {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void request_stop(int /*signal*/) {
  stop_requested.store(true);
}

}  // namespace

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  // SA_RESETHAND: the second signal finds the default action.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  // SIGINT is taken even where it comes ignored, as in the background jobs of
  // a shell script: who sends it to this process wants it to stop.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // An ignored SIGHUP stays ignored: that is what nohup asks for.
  struct sigaction inherited {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) {
    sigaction(SIGHUP, &action, nullptr);
  }
  return stop_requested;
}

}  // namespace barlow::app
