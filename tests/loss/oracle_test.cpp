// SPDX-License-Identifier: MIT
//
// Against Python torch (tests/oracle/loss.py).

#include <gtest/gtest.h>

#include "loss/reference.h"
#include "support/tensors.h"

namespace barlow {
namespace {

using test::relative_error;

struct Case {
  const char* file;
  torch::ScalarType type;
  LossPath path;
  double tolerance;
};

void expect_equal(
    const NamedTensors& oracle,
    const std::string& prefix,
    const Case& wanted) {
  const test::LossAndGradients actual = test::barlow_loss(
      {oracle.at("z_a").to(wanted.type), oracle.at("z_b").to(wanted.type)},
      {.lambda = 0.0051, .path = wanted.path});
  const auto expected = [&](const char* name) {
    return oracle.at(prefix + name);
  };
  EXPECT_LT(relative_error(actual.total, expected("total")), wanted.tolerance);
  EXPECT_LT(
      relative_error(actual.invariance, expected("invariance")),
      wanted.tolerance);
  EXPECT_LT(
      relative_error(actual.redundancy, expected("redundancy")),
      wanted.tolerance);
  EXPECT_LT(
      test::gradient_error(
          actual.gradients,
          {expected("gradient_a"), expected("gradient_b")}),
      wanted.tolerance);
}

TEST(BarlowTwinsLossOracle, EqualsPythonTorchInFloat64AndFloat32) {
  for (const char* size :
       {"2x3", "3x5", "16x4", "20x48", "64x128", "256x300"}) {
    SCOPED_TRACE(size);
    const NamedTensors oracle = test::read_oracle(
        BARLOW_ORACLE_DIR,
        std::string("loss_") + size + ".safetensors");
    for (const LossPath path :
         {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
      // float64: rounding. At N = 2 the gradient is 1e-4 of the terms that it
      // is the difference of.
      expect_equal(oracle, "float64.", {size, torch::kFloat64, path, 1e-11});
      // float32 inputs against float64 arithmetic: the stated bound.
      expect_equal(oracle, "float64.", {size, torch::kFloat32, path, 1e-6});
      // And against float32 arithmetic, whose own error dominates.
      if (std::string(size) != "2x3") {
        expect_equal(oracle, "float32.", {size, torch::kFloat32, path, 1e-5});
      }
    }
  }
}

}  // namespace
}  // namespace barlow
