// SPDX-License-Identifier: MIT

#include "barlow/optim/optimizer.h"

#include <cmath>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/optim/adamw.h"
#include "barlow/optim/lars.h"
#include "barlow/optim/sgd.h"
#include "support/tensors.h"

namespace barlow::optim {
namespace {

torch::Tensor leaf(const torch::Tensor& values) {
  return values.to(torch::kFloat32).requires_grad_();
}

std::vector<NamedParameter> small_model() {
  return {
      {"conv.weight", leaf(test::normal({4, 3, 3, 3}, 1))},
      {"conv.bias", leaf(test::normal({4}, 2))},
      {"head.weight", leaf(test::normal({5, 4}, 3))}};
}

void set_gradients(std::vector<NamedParameter>& parameters, int step) {
  std::uint64_t seed = 100 * static_cast<std::uint64_t>(step);
  for (NamedParameter& parameter : parameters) {
    parameter.tensor.mutable_grad() =
        test::normal(parameter.tensor.sizes().vec(), ++seed)
            .to(torch::kFloat32);
  }
}

using Maker = std::function<std::unique_ptr<Optimizer>(const ParameterGroups&)>;

template <class Optimiser>
Maker maker() {
  return [](const ParameterGroups& groups) {
    return std::make_unique<Optimiser>(groups);
  };
}

TEST(GroupParameters, SortsByDimensionsAndKeepsTheOrder) {
  std::vector<NamedParameter> parameters = small_model();
  parameters.push_back({"scale", leaf(torch::ones({}))});
  parameters.push_back({"fixed", torch::ones({2, 2})});
  const ParameterGroups groups = group_parameters(parameters);
  ASSERT_EQ(groups.weights.size(), 2u);
  EXPECT_EQ(groups.weights[0].name, "conv.weight");
  EXPECT_EQ(groups.weights[1].name, "head.weight");
  ASSERT_EQ(groups.biases.size(), 2u);
  EXPECT_EQ(groups.biases[0].name, "conv.bias");
  EXPECT_EQ(groups.biases[1].name, "scale");
}

TEST(GroupParameters, TakesAModulesOwnDictionary) {
  torch::OrderedDict<std::string, torch::Tensor> named;
  named.insert("b", leaf(torch::ones({2})));
  named.insert("a", leaf(torch::ones({2})));
  const ParameterGroups groups = group_parameters(named);
  ASSERT_EQ(groups.biases.size(), 2u);
  EXPECT_EQ(groups.biases[0].name, "b");
}

TEST(GroupParameters, RefusesWhatCannotBeOptimised) {
  const torch::Tensor x = leaf(torch::ones({2}));
  using Parameters = std::vector<NamedParameter>;
  EXPECT_THROW(
      (void)group_parameters(Parameters{{"a", x}, {"a", leaf(x.detach())}}),
      c10::ValueError);
  EXPECT_THROW((void)group_parameters(Parameters{{"a", {}}}), c10::ValueError);
  EXPECT_THROW(
      (void)group_parameters(Parameters{{"a", x * 2}}),
      c10::ValueError);
  EXPECT_THROW(
      (void)group_parameters(
          Parameters{{"a", torch::ones({2}, torch::kBFloat16)}}),
      c10::ValueError);
}

// One step from p = (3, 4), g = (0, 2): |p| = 5, |g| = 2.
TEST(Lars, TakesTheStepOfThePaper) {
  const torch::Tensor p = leaf(torch::tensor({{3.0, 4.0}}));
  p.mutable_grad() = torch::tensor({{0.0F, 2.0F}});
  Lars lars(
      group_parameters(std::vector<NamedParameter>{{"p", p}}),
      {.weight_decay = 0, .trust_coefficient = 0.1});
  lars.step({.weights = 2, .biases = 0});
  // 4 - 2 (0.1 * 5 / 2 * 2)
  EXPECT_EQ(p[0][0].item<float>(), 3.0F);
  EXPECT_NEAR(p[0][1].item<double>(), 3.0, 1e-6);
}

// 0.1 * 5 / 2 = 0.25: clipped at rate 0.2, not at rate 0.5.
TEST(Lars, ClippedNeverStepsFurtherThanSgd) {
  for (const auto& [rate, expected] :
       std::vector<std::pair<double, double>>{{0.2, 3.6}, {0.5, 3.5}}) {
    const torch::Tensor p = leaf(torch::tensor({{3.0, 4.0}}));
    p.mutable_grad() = torch::tensor({{0.0F, 2.0F}});
    Lars lars(
        group_parameters(std::vector<NamedParameter>{{"p", p}}),
        {.weight_decay = 0,
         .trust_coefficient = 0.1,
         .trust_ratio = TrustRatio::kClipped});
    lars.step({.weights = rate, .biases = 0});
    EXPECT_NEAR(p[0][1].item<double>(), expected, 1e-6) << "rate " << rate;
  }
}

// LibTorch 1.13's norm of this one is 0.4 % off. Ours is off by at most 14
// roundings of the squared norm, 7 x 2^-24, 4e-7.
TEST(Lars, UsesExactNormsOfLargeTensors) {
  const std::int64_t n = std::int64_t{1} << 24;
  const torch::Tensor p = leaf(torch::full({1, n}, 0.0123));
  p.mutable_grad() = torch::full({1, n}, 0.5F);
  Lars lars(
      group_parameters(std::vector<NamedParameter>{{"p", p}}),
      {.weight_decay = 0, .momentum = 0, .trust_coefficient = 1});
  lars.step({.weights = 0.5, .biases = 0});
  // q = 0.0123 / 0.5, so that p - 0.5 q g = p / 2: subtraction keeps the size
  // of the error of both norms and of three roundings.
  EXPECT_NEAR(p[0][0].item<double>() / (0.0123 / 2), 1.0, 1.2e-6);
}

TEST(Lars, RefusesOptionsOutOfRange) {
  const ParameterGroups none;
  EXPECT_THROW(Lars(none, {.weight_decay = -1}), c10::ValueError);
  EXPECT_THROW(Lars(none, {.momentum = 1}), c10::ValueError);
  EXPECT_THROW(Lars(none, {.trust_coefficient = 0}), c10::ValueError);
}

TEST(Sgd, RefusesOptionsOutOfRange) {
  const ParameterGroups none;
  EXPECT_THROW(Sgd(none, {.weight_decay = -1}), c10::ValueError);
  EXPECT_THROW(Sgd(none, {.momentum = -0.1}), c10::ValueError);
  EXPECT_THROW(Sgd(none, {.momentum = 0, .nesterov = true}), c10::ValueError);
}

TEST(AdamW, RefusesOptionsOutOfRange) {
  const ParameterGroups none;
  EXPECT_THROW(AdamW(none, {.weight_decay = -1}), c10::ValueError);
  EXPECT_THROW(AdamW(none, {.beta1 = 1}), c10::ValueError);
  EXPECT_THROW(AdamW(none, {.beta2 = -1}), c10::ValueError);
  EXPECT_THROW(AdamW(none, {.epsilon = 0}), c10::ValueError);
}

class AnyOptimizer : public testing::TestWithParam<Maker> {};

TEST_P(AnyOptimizer, ContinuesToTheSameBitsFromItsState) {
  std::vector<NamedParameter> straight = small_model();
  const auto whole = GetParam()(group_parameters(straight));
  NamedTensors saved;
  std::vector<NamedParameter> resumed;
  for (int step = 0; step < 6; ++step) {
    if (step == 3) {
      for (const auto& [name, tensor] : whole->state()) {
        saved.emplace(name, tensor.clone());
      }
      for (const NamedParameter& parameter : straight) {
        resumed.push_back(
            {parameter.name,
             parameter.tensor.detach().clone().requires_grad_()});
      }
    }
    set_gradients(straight, step);
    whole->step({.weights = 0.1 * step, .biases = 0.01});
  }
  const auto second = GetParam()(group_parameters(resumed));
  second->load_state(saved);
  for (int step = 3; step < 6; ++step) {
    set_gradients(resumed, step);
    second->step({.weights = 0.1 * step, .biases = 0.01});
  }
  for (std::size_t i = 0; i < straight.size(); ++i) {
    EXPECT_TRUE(torch::equal(straight[i].tensor, resumed[i].tensor))
        << straight[i].name;
  }
  for (const auto& [name, tensor] : whole->state()) {
    EXPECT_TRUE(torch::equal(tensor, second->state().at(name))) << name;
  }
}

TEST_P(AnyOptimizer, RefusesAStateThatDoesNotFitAndKeepsItsOwn) {
  std::vector<NamedParameter> parameters = small_model();
  const auto optimizer = GetParam()(group_parameters(parameters));
  set_gradients(parameters, 1);
  optimizer->step({.weights = 0.1, .biases = 0.1});
  NamedTensors own;
  NamedTensors zeros;
  for (const auto& [name, tensor] : optimizer->state()) {
    own.emplace(name, tensor.clone());
    zeros.emplace(name, torch::zeros_like(tensor));
  }
  const std::string last = zeros.rbegin()->first;
  const auto expect_refused = [&](const NamedTensors& state) {
    try {
      optimizer->load_state(state);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(last), std::string::npos)
          << error.what();
    }
    for (const auto& [name, tensor] : optimizer->state()) {
      EXPECT_TRUE(torch::equal(tensor, own.at(name))) << name;
    }
  };
  NamedTensors wrong = zeros;
  wrong.erase(last);
  expect_refused(wrong);
  wrong = zeros;
  wrong[last + ".more"] = torch::zeros({1});
  expect_refused(wrong);
  wrong = zeros;
  wrong[last] = torch::zeros({1, 2, 3});
  expect_refused(wrong);
  wrong = zeros;
  wrong[last] = zeros[last].to(torch::kFloat64);
  expect_refused(wrong);
}

TEST_P(AnyOptimizer, LeavesParametersWithoutAGradientAlone) {
  std::vector<NamedParameter> parameters = small_model();
  const auto optimizer = GetParam()(group_parameters(parameters));
  set_gradients(parameters, 1);
  optimizer->step({.weights = 0.1, .biases = 0.1});
  const torch::Tensor before = parameters[0].tensor.detach().clone();
  optimizer->zero_grad();
  EXPECT_FALSE(parameters[0].tensor.grad().defined());
  optimizer->step({.weights = 0.1, .biases = 0.1});
  EXPECT_TRUE(torch::equal(parameters[0].tensor, before));
}

TEST_P(AnyOptimizer, RefusesARateThatIsNotOne) {
  const auto optimizer = GetParam()(group_parameters(small_model()));
  EXPECT_THROW(optimizer->step({.weights = -1, .biases = 0}), c10::ValueError);
  EXPECT_THROW(
      optimizer->step({.weights = 0, .biases = std::nan("")}),
      c10::ValueError);
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    AnyOptimizer,
    testing::Values(maker<Lars>(), maker<Sgd>(), maker<AdamW>()));

}  // namespace
}  // namespace barlow::optim
