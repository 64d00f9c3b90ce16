// SPDX-License-Identifier: MIT
//
// Fair timing: what is compared is run in turns, in one process.

#pragma once

#include <functional>
#include <vector>

namespace barlow::bench {

struct Timing {
  double median_ms = 0;
  double fastest_ms = 0;
  double slowest_ms = 0;
};

/// Runs every candidate once to warm up, then all of them in turns, `rounds`
/// times: what disturbs the machine disturbs each alike. rounds >= 1.
[[nodiscard]] std::vector<Timing> time_in_turns(
    const std::vector<std::function<void()>>& candidates,
    int rounds);

/// As many rounds as fit into about `seconds`, at least 3 and at most 50.
[[nodiscard]] std::vector<Timing> time_in_turns_for(
    const std::vector<std::function<void()>>& candidates,
    double seconds);

}  // namespace barlow::bench
