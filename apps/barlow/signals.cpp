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
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // What a parent has set to be ignored stays so: that is what nohup does.
    struct sigaction inherited {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) {
      sigaction(signal, &action, nullptr);
    }
  }
  return stop_requested;
}

}  // namespace barlow::app
