// SPDX-License-Identifier: MIT

#include "barlow/model/initialize.h"

#include <cmath>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "barlow/model/named_state.h"
#include "barlow/model/twins.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

const ResNetOptions kSmall{.architecture = "resnet18", .width_factor = 0.25};

NamedTensors parameters_of(const torch::nn::Module& module) {
  NamedTensors copies;
  for (const auto& item : module.named_parameters()) {
    copies.emplace(item.key(), item.value().detach().clone());
  }
  return copies;
}

NamedTensors drawn(std::uint64_t seed) {
  ResNet net(kSmall);
  initialize_parameters(*net, seed);
  return parameters_of(*net);
}

void expect_same_bits(const NamedTensors& a, const NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, tensor] : a) {
    EXPECT_TRUE(torch::equal(tensor, b.at(name))) << name;
  }
}

// Six standard errors: a correct generator fails once in 5e8 such checks. The
// relative standard error of a variance from m values is sqrt((k - 1) / m) with
// kurtosis k: 3 for a normal, 9/5 for a uniform distribution.
void expect_moments(
    const torch::Tensor& values,
    double variance,
    double kurtosis,
    const std::string& name) {
  const torch::Tensor x = values.to(torch::kFloat64);
  const auto count = static_cast<double>(x.numel());
  EXPECT_NEAR(x.mean().item<double>(), 0, 6 * std::sqrt(variance / count))
      << name;
  EXPECT_NEAR(
      x.square().mean().item<double>() / variance,
      1,
      6 * std::sqrt((kurtosis - 1) / count))
      << name;
  const double fourth = x.pow(4).mean().item<double>();
  // The sample kurtosis of a normal has a standard error of sqrt(24 / m) about
  // its own mean variance, and sqrt(96 / m) about a given one.
  EXPECT_NEAR(
      fourth / (variance * variance),
      kurtosis,
      6 * std::sqrt(96 / count))
      << name;
}

TEST(InitializeParameters, DrawsConvolutionsNormalWithFanOut) {
  for (const auto& [name, tensor] : drawn(3)) {
    if (tensor.dim() == 4) {
      const auto fan_out = static_cast<double>(tensor.numel() / tensor.size(1));
      expect_moments(tensor, 2 / fan_out, 3, name);
    }
  }
}

TEST(InitializeParameters, DrawsLinearUniformWithinItsBound) {
  Projector projector(100, std::vector<std::int64_t>{400, 300});
  initialize_parameters(*projector, 3);
  for (const auto& [name, tensor] : parameters_of(*projector)) {
    if (tensor.dim() == 2) {
      const double bound = 1 / std::sqrt(static_cast<double>(tensor.size(1)));
      EXPECT_LE(tensor.abs().max().item<double>(), bound * (1 + 1e-7)) << name;
      expect_moments(tensor, bound * bound / 3, 9.0 / 5, name);
    }
  }
  Linear biased(50, 2000, Bias::kLearned);
  initialize_parameters(*biased, 3);
  expect_moments(biased->bias.detach(), 1.0 / 50 / 3, 9.0 / 5, "bias");
}

TEST(InitializeParameters, ResetsBatchNorm) {
  ResNet net(kSmall);
  initialize_parameters(*net, 1);
  torch::NoGradGuard no_grad;
  net->forward(test::normal({4, 3, 64, 64}, 1).to(torch::kFloat32));
  initialize_parameters(*net, 1);
  const NamedTensors state = named_state(*net);
  EXPECT_EQ(state.at("bn1.weight").min().item<float>(), 1);
  EXPECT_EQ(state.at("bn1.bias").abs().max().item<float>(), 0);
  EXPECT_EQ(state.at("bn1.running_mean").abs().max().item<float>(), 0);
  EXPECT_EQ(state.at("bn1.running_var").min().item<float>(), 1);
  EXPECT_EQ(state.at("bn1.num_batches_tracked").item<std::int64_t>(), 0);
}

TEST(InitializeParameters, IsAFunctionOfTheSeed) {
  const NamedTensors one = drawn(1);
  expect_same_bits(one, drawn(1));
  const NamedTensors two = drawn(2);
  for (const auto& [name, tensor] : one) {
    if (tensor.dim() == 4) {
      // Independent values: sum of squares of the difference is twice that of
      // one, whose relative standard error is sqrt(2 / m), m >= 2352.
      EXPECT_NEAR(
          test::relative_error(tensor, two.at(name)),
          std::sqrt(2.0),
          0.2)
          << name;
    }
  }
}

TEST(InitializeParameters, DoesNotDependOnThreadsFormatOrGlobalGenerator) {
  const NamedTensors expected = drawn(1);
  torch::manual_seed(99);
  at::set_num_threads(1);
  ResNet net(kSmall);
  net->to_channels_last();
  initialize_parameters(*net, 1);
  at::set_num_threads(2);
  expect_same_bits(expected, parameters_of(*net));

  net->to(torch::kFloat64);
  initialize_parameters(*net, 1);
  net->to(torch::kFloat32);
  expect_same_bits(expected, parameters_of(*net));
}

TEST(InitializeParameters, ConstructionLeavesTheGlobalGeneratorAlone) {
  torch::manual_seed(5);
  const torch::Tensor expected = torch::rand({4});
  torch::manual_seed(5);
  BarlowTwins twins(kSmall, std::vector<std::int64_t>{8, 8});
  initialize_parameters(*twins, 1);
  EXPECT_TRUE(torch::equal(torch::rand({4}), expected));
}

TEST(InitializeParameters, GivesABackboneTheValuesItHasInTwins) {
  BarlowTwins twins(kSmall, std::vector<std::int64_t>{8, 8});
  initialize_parameters(*twins, 1);
  expect_same_bits(drawn(1), parameters_of(*twins->backbone()));
}

TEST(InitializeParameters, DrawsEachParameterAndEachRunOfValuesAnew) {
  // 256 x 128 is two runs of 2^14 values; the layers' shapes are equal.
  Projector projector(128, std::vector<std::int64_t>{256, 128, 256});
  initialize_parameters(*projector, 1);
  const NamedTensors values = parameters_of(*projector);
  const torch::Tensor first = values.at("0.weight").flatten();
  EXPECT_FALSE(torch::equal(
      first.slice(0, 0, 1 << 14),
      first.slice(0, 1 << 14, 2 << 14)));
  EXPECT_FALSE(torch::equal(first, values.at("6.weight").flatten()));
}

struct Unknown : torch::nn::Module {
  Unknown() { register_parameter("scale", torch::zeros({1})); }
};

TEST(InitializeParameters, RefusesModulesThatItDoesNotKnow) {
  Unknown unknown;
  EXPECT_THROW(initialize_parameters(unknown, 1), c10::ValueError);
}

}  // namespace
}  // namespace barlow::model
