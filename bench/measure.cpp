// SPDX-License-Identifier: MIT

#include "bench/measure.h"

#include <algorithm>
#include <chrono>

namespace barlow::bench {
namespace {

double time_ms(const std::function<void()>& candidate) {
  const auto start = std::chrono::steady_clock::now();
  candidate();
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - start)
      .count();
}

Timing summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back()};
}

std::vector<Timing> measure(
    const std::vector<std::function<void()>>& candidates,
    int rounds) {
  std::vector<std::vector<double>> times(candidates.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      times[i].push_back(time_ms(candidates[i]));
    }
  }
  std::vector<Timing> timings;
  for (const std::vector<double>& of_one : times) {
    timings.push_back(summary(of_one));
  }
  return timings;
}

}  // namespace

std::vector<Timing> time_in_turns(
    const std::vector<std::function<void()>>& candidates,
    int rounds) {
  for (const auto& candidate : candidates) {
    candidate();
  }
  return measure(candidates, rounds);
}

std::vector<Timing> time_in_turns_for(
    const std::vector<std::function<void()>>& candidates,
    double seconds) {
  double round_ms = 0;
  for (const auto& candidate : candidates) {
    candidate();
    round_ms += time_ms(candidate);
  }
  const double fitting = 1000 * seconds / std::max(round_ms, 1e-3);
  return measure(candidates, static_cast<int>(std::clamp(fitting, 3.0, 50.0)));
}

}  // namespace barlow::bench
