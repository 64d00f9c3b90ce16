// SPDX-License-Identifier: MIT
//
// Tests that hold for either way of computing the loss.

#pragma once

#include <gtest/gtest.h>

#include "barlow/loss/barlow_twins_loss.h"

namespace barlow::test {

// float64 rounding, amplified by sums of some hundred terms and the difference
// of nearly equal vectors that is a standardisation's gradient.
inline constexpr double kRounding = 1e-11;

class BothPaths : public testing::TestWithParam<LossPath> {
 protected:
  [[nodiscard]] static BarlowTwinsLossOptions options() {
    return {.path = GetParam()};
  }
};

inline auto both_paths() {
  return testing::Values(LossPath::kFeatureSpace, LossPath::kSampleSpace);
}

inline std::string path_name(const testing::TestParamInfo<LossPath>& path) {
  return path.param == LossPath::kFeatureSpace ? "FeatureSpace" : "SampleSpace";
}

}  // namespace barlow::test
