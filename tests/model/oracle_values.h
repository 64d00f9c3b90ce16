// SPDX-License-Identifier: MIT
//
// What the oracle script measured of one Python module, and the comparison of
// a C++ module with it.

#pragma once

#include <string>

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "barlow/model/named_state.h"
#include "support/tensors.h"

namespace barlow::test {

// The entries whose name begins with `prefix`, without it.
inline NamedTensors without_prefix(
    const NamedTensors& tensors,
    const std::string& prefix) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) {
      result.emplace(name.substr(prefix.size()), tensor);
    }
  }
  return result;
}

// Relative, in the Euclidean norm.
struct Tolerance {
  double evaluation = 0;
  double training = 0;  // outputs and running statistics
  double gradient = 0;
};

// Only the order of sums may differ: 2^-53 times the square root of a few
// thousand terms, times the conditioning of fifty batch norms.
constexpr Tolerance kFloat64Tolerance{1e-12, 1e-12, 1e-11};

// float32 in Python against float32 here: the project's promise to users.
constexpr Tolerance kFloat32Tolerance{1e-5, 1e-5, 1e-4};

// Other kernels (channels-last) against each other. Evaluation is well
// conditioned. In training the last stages normalise 8 to 24 values a channel,
// which magnifies rounding, and a ReLU whose input is within it of zero
// switches, which moves gradients by percents; a wrong layout moves everything
// by its own size.
constexpr Tolerance kOtherKernelsTolerance{1e-5, 1e-3, 0.1};

struct Comparison {
  torch::Dtype dtype = torch::kFloat64;
  Tolerance tolerance = kFloat64Tolerance;
};

// Loads the oracle's state into `module` and compares evaluation, training,
// gradients and the buffers after one training pass.
template <class Module>
void expect_equals_oracle(
    Module& module,
    const NamedTensors& oracle,
    const Comparison& comparison) {
  const auto& [dtype, tolerance] = comparison;
  const NamedTensors values = without_prefix(
      oracle,
      dtype == torch::kFloat64 ? "float64/" : "float32/");
  module->to(dtype);
  model::load_state(
      *module,
      without_prefix(oracle, "state/"),
      {.ignore = {"fc.*"}});
  const torch::Tensor x = oracle.at("x").to(dtype);

  module->eval();
  {
    torch::NoGradGuard no_grad;
    EXPECT_LT(
        relative_error(module->forward(x), values.at("eval")),
        tolerance.evaluation);
  }
  module->train();
  const torch::Tensor out = module->forward(x);
  EXPECT_EQ(out.scalar_type(), dtype);
  EXPECT_LT(relative_error(out, values.at("train")), tolerance.training);
  (out * oracle.at("upstream").to(dtype)).sum().backward();

  auto parameters = module->named_parameters();
  for (const auto& [name, gradient] : without_prefix(values, "gradient/")) {
    EXPECT_LT(
        relative_error(parameters[name].grad(), gradient),
        tolerance.gradient)
        << name;
  }
  auto buffers = module->named_buffers();
  for (const auto& [name, buffer] : without_prefix(values, "after/")) {
    EXPECT_LT(relative_error(buffers[name], buffer), tolerance.training)
        << name;
  }
}

}  // namespace barlow::test
