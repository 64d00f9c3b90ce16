// SPDX-License-Identifier: MIT
//
// Ten steps with a changing rate against tests/oracle/optim.py, in float64 and
// float32, over parameters that include a zero one, one whose gradient is zero,
// one that never has a gradient and one that has it at times.

#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/optim/adamw.h"
#include "barlow/optim/lars.h"
#include "barlow/optim/sgd.h"
#include "support/tensors.h"

namespace barlow::optim {
namespace {

using Maker = std::function<std::unique_ptr<Optimizer>(const ParameterGroups&)>;

constexpr int kSteps = 10;

struct Case {
  std::string name;
  Maker make;
};

void PrintTo(const Case& c, std::ostream* stream) {
  *stream << c.name;
}

template <class Optimiser, class Options>
Maker maker(const Options& options) {
  return [options](const ParameterGroups& groups) {
    return std::make_unique<Optimiser>(groups, options);
  };
}

std::vector<NamedParameter> start_parameters(
    const NamedTensors& oracle,
    torch::ScalarType type) {
  const std::string prefix = "start.";
  std::vector<NamedParameter> parameters;
  for (const auto& [name, tensor] : oracle) {
    if (name.rfind(prefix, 0) == 0) {
      // A copy: the oracle's own float32 must not be updated in place.
      parameters.push_back(
          {name.substr(prefix.size()),
           tensor.to(type, false, /*copy=*/true).requires_grad_()});
    }
  }
  return parameters;
}

// The largest error of any parameter after the ten steps, relative to it.
double error_after_ten_steps(const Case& c, torch::ScalarType type) {
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, c.name + ".safetensors");
  std::vector<NamedParameter> parameters = start_parameters(oracle, type);
  EXPECT_EQ(parameters.size(), 9u);
  const auto optimizer = c.make(group_parameters(parameters));
  for (int step = 0; step < kSteps; ++step) {
    optimizer->zero_grad();
    for (NamedParameter& parameter : parameters) {
      const auto gradient = oracle.find(
          "gradient." + std::to_string(step) + "." + parameter.name);
      if (gradient != oracle.end()) {
        parameter.tensor.mutable_grad() = gradient->second.to(type);
      }
    }
    const torch::Tensor rates = oracle.at("rates")[step];
    optimizer->step({rates[0].item<double>(), rates[1].item<double>()});
  }
  double worst = 0;
  for (const NamedParameter& parameter : parameters) {
    worst = std::max(
        worst,
        test::relative_error(
            parameter.tensor,
            oracle.at("end." + parameter.name)));
  }
  return worst;
}

class OptimizerOracle
    : public testing::TestWithParam<std::tuple<Case, torch::ScalarType>> {};

// A step rounds each number a few times; ten steps, with momentum, up to a
// hundred times, and a factor 4 where a difference of larger numbers remains.
TEST_P(OptimizerOracle, EqualsPythonOverTenSteps) {
  const auto& [optimizer, type] = GetParam();
  const double unit = std::ldexp(1.0, type == torch::kFloat64 ? -53 : -24);
  EXPECT_LT(error_after_ten_steps(optimizer, type), 400 * unit);
}

std::string label(
    const testing::TestParamInfo<OptimizerOracle::ParamType>& info) {
  const auto& [optimizer, type] = info.param;
  return optimizer.name + (type == torch::kFloat64 ? "_float64" : "_float32");
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      Case{"lars_authors", maker<Lars>(LarsOptions{.weight_decay = 0.05})},
      Case{
          "lars_all",
          maker<Lars>(LarsOptions{
              .weight_decay = 0.05,
              .momentum = 0.8,
              .trust_coefficient = 0.1,
              .decay_biases_and_norms = true,
              .adapt_biases_and_norms = true})},
      Case{
          "lars_clipped",
          maker<Lars>(LarsOptions{
              .weight_decay = 0.05,
              .trust_coefficient = 0.02,
              .trust_ratio = TrustRatio::kClipped})},
      Case{
          "lars_clipped_all",
          maker<Lars>(LarsOptions{
              .weight_decay = 0.05,
              .trust_coefficient = 0.5,
              .trust_ratio = TrustRatio::kClipped,
              .decay_biases_and_norms = true,
              .adapt_biases_and_norms = true})},
      Case{"sgd", maker<Sgd>(SgdOptions{.weight_decay = 0.05})},
      Case{
          "sgd_nesterov",
          maker<Sgd>(SgdOptions{
              .weight_decay = 0.05,
              .momentum = 0.8,
              .nesterov = true,
              .decay_biases_and_norms = true})},
      Case{"sgd_plain", maker<Sgd>(SgdOptions{.momentum = 0})},
      Case{"adamw", maker<AdamW>(AdamWOptions{.weight_decay = 0.05})},
      Case{
          "adamw_all",
          maker<AdamW>(AdamWOptions{
              .weight_decay = 0.05,
              .beta1 = 0.8,
              .beta2 = 0.95,
              .epsilon = 1e-3,
              .decay_biases_and_norms = true})}};
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    OptimizerOracle,
    testing::Combine(
        testing::ValuesIn(cases()),
        testing::Values(torch::kFloat64, torch::kFloat32)),
    label);

}  // namespace
}  // namespace barlow::optim
