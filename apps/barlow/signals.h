// SPDX-License-Identifier: MIT

#pragma once

#include <atomic>

namespace barlow::app {

/// Installs handlers for SIGINT, SIGTERM and, unless it is ignored, SIGHUP, and
/// returns the flag that the first of them sets. A second one ends the process
/// at once, as without handlers.
[[nodiscard]] const std::atomic<bool>& stop_on_signals();

}  // namespace barlow::app
