// SPDX-License-Identifier: MIT
//
// Many draws and what is expected of their distribution. Draws are fixed by
// their keys, so that no test can flake; bounds are five standard errors of the
// number tested.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/data/augment.h"

namespace barlow::data {

inline constexpr int kDraws = 20000;

inline ViewDraws draw(
    const ViewOptions& options,
    std::uint64_t image,
    int width = 500,
    int height = 334) {
  RandomStream stream(
      {.seed = 11, .purpose = StreamPurpose::kAugmentation, .image = image});
  return draw_view(options, width, height, stream);
}

inline std::vector<ViewDraws> many_draws(const ViewOptions& options) {
  std::vector<ViewDraws> result;
  for (std::uint64_t image = 0; image < kDraws; ++image) {
    result.push_back(draw(options, image));
  }
  return result;
}

inline void expect_frequency(
    const std::vector<ViewDraws>& draws,
    double probability,
    const std::function<bool(const ViewDraws&)>& holds) {
  const auto count = std::count_if(draws.begin(), draws.end(), holds);
  const double n = static_cast<double>(draws.size());
  EXPECT_NEAR(
      static_cast<double>(count) / n,
      probability,
      5 * std::sqrt(probability * (1 - probability) / n));
}

/// Uniform in [low, high]: range, mean and mean square.
inline void expect_uniform(
    const std::vector<ViewDraws>& draws,
    double low,
    double high,
    const std::function<double(const ViewDraws&)>& value) {
  double sum = 0;
  double squares = 0;
  for (const ViewDraws& d : draws) {
    const double unit = (value(d) - low) / (high - low);
    ASSERT_GE(unit, -1e-12);
    ASSERT_LE(unit, 1 + 1e-12);
    sum += unit;
    squares += unit * unit;
  }
  const double n = static_cast<double>(draws.size());
  EXPECT_NEAR(sum / n, 1.0 / 2, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
}

}  // namespace barlow::data
