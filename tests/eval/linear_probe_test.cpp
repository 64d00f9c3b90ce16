// SPDX-License-Identifier: MIT

#include "barlow/eval/linear_probe.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "support/tensors.h"

namespace barlow::eval {
namespace {

struct Sets {
  Features train;
  Features test;
};

Sets oracle_sets() {
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, "eval.safetensors");
  return {
      {oracle.at("train.features"), oracle.at("train.labels")},
      {oracle.at("test.features"), oracle.at("test.labels")}};
}

// Two numbers, 3 classes, far apart; a third number that says nothing.
Features separable(std::int64_t size, std::uint64_t seed) {
  const torch::Tensor labels = torch::arange(size).remainder(3);
  const torch::Tensor noise = test::normal({size, 2}, seed);
  const torch::Tensor centres =
      torch::tensor({{0.0, 9.0}, {9.0, 0.0}, {-9.0, -9.0}}, torch::kFloat64);
  const torch::Tensor x = centres.index_select(0, labels) + noise;
  const torch::Tensor constant = torch::full({size, 1}, 1234.5);
  return {
      torch::cat({x, constant}, 1).to(torch::kFloat32).contiguous(),
      labels};
}

double objective_on(
    const LinearProbeResult& result,
    const Features& train,
    double penalty) {
  const torch::Tensor x = train.features.to(torch::kFloat64);
  const torch::Tensor weight = result.weight.to(torch::kFloat64);
  const torch::Tensor logits =
      x.mm(weight.t()) + result.bias.to(torch::kFloat64);
  const torch::Tensor entropy =
      -logits.log_softmax(1).gather(1, train.labels.unsqueeze(1)).mean();
  // The penalty is on the weights of standardised features.
  const torch::Tensor scaled = weight * x.std(0, /*unbiased=*/false);
  return (entropy + 0.5 * penalty * scaled.square().sum()).item<double>();
}

// |grad J| <= 1e-6 leaves J within 1e-12 / (2 penalty) = 5e-8 of the minimum;
// scores in float32 move it by about 1e-7.
TEST(LinearProbe, ReachesPythonsMinimum) {
  const Sets sets = oracle_sets();
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, "eval.safetensors");
  for (const auto& [penalty, name] :
       std::vector<std::pair<double, std::string>>{
           {1e-1, "1e-01"},
           {1e-3, "1e-03"},
           {1e-5, "1e-05"}}) {
    const double expected =
        oracle.at("linear." + name + ".objective").item<double>();
    const LinearProbeResult result = linear_probe(
        sets.train,
        sets.test,
        {.penalties = {penalty}, .gradient_tolerance = 1e-6});
    EXPECT_TRUE(result.converged) << name << ": " << result.gradient_norm;
    EXPECT_NEAR(result.objective, expected, 1e-6) << name;
    // The reported classifier is the one that was fitted.
    EXPECT_NEAR(objective_on(result, sets.train, penalty), expected, 2e-6)
        << name;
  }
}

TEST(LinearProbe, FindsPythonsWeights) {
  const Sets sets = oracle_sets();
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, "eval.safetensors");
  const LinearProbeResult result = linear_probe(
      sets.train,
      sets.test,
      {.penalties = {1e-1}, .gradient_tolerance = 1e-6});
  const torch::Tensor deviation =
      sets.train.features.to(torch::kFloat64).std(0, /*unbiased=*/false);
  // J is strongly convex in W: |W - W*| <= |grad J| / penalty = 1e-5.
  EXPECT_LT(
      test::max_error(
          (result.weight.to(torch::kFloat64) * deviation).t(),
          oracle.at("linear.1e-01.weight")),
      1e-5);
}

TEST(LinearProbe, SeparatesWhatCanBeSeparated) {
  const LinearProbeResult result =
      linear_probe(separable(300, 1), separable(90, 2));
  EXPECT_EQ(result.test.top1, 1.0);
  EXPECT_EQ(result.train_top1, 1.0);
  EXPECT_FALSE(result.test.top5.has_value());
  EXPECT_TRUE(result.converged);
  // The constant feature was dropped.
  EXPECT_EQ(result.weight.select(1, 2).abs().max().item<float>(), 0.0F);
}

// x = +1 or -1 half the time; label 1 with probability 3/4 where x = 1, 1/4
// where x = -1. By symmetry b = 0 and W = (-w, w); the slope of
// log(1 + e^(-2w)) 3/4 + log(1 + e^(2w)) 1/4 + penalty w^2 vanishes where
// sigmoid(2w) = 3/4 - penalty w.
TEST(LinearProbe, HasTheClosedFormOfTwoClassesAndOneFeature) {
  const Features train{
      torch::tensor({1, 1, 1, 1, -1, -1, -1, -1}, torch::kFloat32).view({8, 1}),
      torch::tensor({1, 1, 1, 0, 0, 0, 0, 1}, torch::kInt64)};
  const double penalty = 0.1;
  const LinearProbeResult result = linear_probe(
      train,
      train,
      {.penalties = {penalty}, .gradient_tolerance = 1e-6});
  const double w = result.weight[1][0].item<double>();
  EXPECT_NEAR(1 / (1 + std::exp(-2 * w)), 0.75 - penalty * w, 1e-5);
  EXPECT_NEAR(result.weight[0][0].item<double>(), -w, 1e-5);
  EXPECT_NEAR(
      result.bias[0].item<double>() - result.bias[1].item<double>(),
      0,
      1e-5);
  EXPECT_EQ(result.test.top1, 0.75);
}

TEST(LinearProbe, ChoosesThePenaltyWithoutTheTestSet) {
  const Sets sets = oracle_sets();
  const LinearProbeResult result = linear_probe(sets.train, sets.test);
  ASSERT_EQ(result.trials.size(), 5u);
  EXPECT_EQ(result.trials.front().penalty, 1e-1);
  double best = -1;
  double chosen = 0;
  for (const PenaltyTrial& trial : result.trials) {
    if (trial.held_out_top1 > best) {
      best = trial.held_out_top1;
      chosen = trial.penalty;
    }
  }
  EXPECT_EQ(result.penalty, chosen);
  Features shuffled = sets.test;
  shuffled.labels = sets.test.labels.flip(0).contiguous();
  const LinearProbeResult other = linear_probe(sets.train, shuffled);
  EXPECT_TRUE(torch::equal(result.weight, other.weight));
  EXPECT_NE(result.test.top1, other.test.top1);
}

TEST(LinearProbe, DrawsTheHeldOutImagesFromTheSeed) {
  const Sets sets = oracle_sets();
  const auto held_out = [&](std::uint64_t seed) {
    std::vector<double> values;
    for (const PenaltyTrial& trial :
         linear_probe(sets.train, sets.test, {.seed = seed}).trials) {
      values.push_back(trial.held_out_top1);
    }
    return values;
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(2));
}

TEST(LinearProbe, DoesNotDependOnTheScaleOfAFeature) {
  const Sets sets = oracle_sets();
  const torch::Tensor scale = torch::pow(10.0, torch::arange(12) - 6.0);
  const auto scaled = [&](const Features& features) {
    return Features{
        (features.features * scale).to(torch::kFloat32).contiguous(),
        features.labels};
  };
  const LinearProbeOptions options{
      .penalties = {1e-2},
      .gradient_tolerance = 1e-6};
  const LinearProbeResult one = linear_probe(sets.train, sets.test, options);
  const LinearProbeResult other =
      linear_probe(scaled(sets.train), scaled(sets.test), options);
  EXPECT_NEAR(one.objective, other.objective, 1e-6);
  EXPECT_EQ(one.test.top1, other.test.top1);
}

TEST(LinearProbe, RefusesWrongArguments) {
  const Features train = separable(30, 1);
  const Features narrow{
      train.features.narrow(1, 0, 2).contiguous(),
      train.labels};
  const auto expect_refused = [&](const LinearProbeOptions& options) {
    EXPECT_THROW((void)linear_probe(train, train, options), c10::ValueError);
  };
  EXPECT_THROW((void)linear_probe(train, narrow), c10::ValueError);
  expect_refused({.penalties = {}});
  expect_refused({.penalties = {1e-3, 0}});
  expect_refused({.held_out_fraction = 0});
  expect_refused({.held_out_fraction = 1});
  expect_refused({.max_iterations = 0});
  expect_refused({.gradient_tolerance = 0});
  Features single = train;
  single.labels = torch::ones_like(train.labels);
  EXPECT_THROW((void)linear_probe(single, train), UsageError);
}

}  // namespace
}  // namespace barlow::eval
