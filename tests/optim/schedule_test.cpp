// SPDX-License-Identifier: MIT

#include "barlow/optim/schedule.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

#include "support/tensors.h"

namespace barlow::optim {
namespace {

// A handful of operations of float64 on numbers up to 1.
constexpr double kTolerance = 1e-15;

TEST(WarmupCosine, RisesLinearlyFromZero) {
  EXPECT_EQ(warmup_cosine(0, 100, 10), 0.0);
  EXPECT_EQ(warmup_cosine(1, 100, 10), 0.1);
  EXPECT_EQ(warmup_cosine(5, 100, 10), 0.5);
}

TEST(WarmupCosine, HasItsClosedFormsAtEndOfWarmupMiddleAndEnd) {
  EXPECT_EQ(warmup_cosine(10, 110, 10), 1.0);
  EXPECT_NEAR(warmup_cosine(60, 110, 10), 0.5 * (1 + 1e-3), kTolerance);
  // sin^2(pi / 200) is what a hundredth of the way back up from the end gives.
  const double rest = std::pow(std::sin(std::acos(-1.0) / 200), 2);
  EXPECT_NEAR(
      warmup_cosine(109, 110, 10),
      rest + 1e-3 * (1 - rest),
      kTolerance);
}

TEST(WarmupCosine, StaysAtItsFinalFactorAfterTheLastStep) {
  EXPECT_EQ(warmup_cosine(110, 110, 10), 1e-3);
  EXPECT_EQ(warmup_cosine(1000, 110, 10), 1e-3);
  EXPECT_EQ(warmup_cosine(1000, 110, 10, 0.25), 0.25);
}

TEST(WarmupCosine, StartsAtOneWithoutWarmup) {
  EXPECT_EQ(warmup_cosine(0, 5, 0), 1.0);
}

TEST(WarmupCosine, MayBeAllWarmup) {
  EXPECT_EQ(warmup_cosine(4, 5, 5), 0.8);
  EXPECT_EQ(warmup_cosine(5, 5, 5), 1e-3);
}

TEST(WarmupCosine, RefusesImpossibleSteps) {
  EXPECT_THROW((void)warmup_cosine(-1, 5, 0), c10::ValueError);
  EXPECT_THROW((void)warmup_cosine(0, 5, 6), c10::ValueError);
  EXPECT_THROW((void)warmup_cosine(0, 5, -1), c10::ValueError);
  EXPECT_THROW((void)warmup_cosine(0, 0, 0), c10::ValueError);
}

TEST(WarmupCosine, EqualsPythonAtEveryStep) {
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, "schedule.safetensors");
  const auto& long_run = oracle.at("total_100_warmup_10");
  for (std::int64_t step = 0; step < 100; ++step) {
    EXPECT_NEAR(
        warmup_cosine(step, 100, 10),
        long_run[step].item<double>(),
        kTolerance)
        << "step " << step;
  }
  const auto& short_run = oracle.at("total_7_warmup_0");
  for (std::int64_t step = 0; step < 7; ++step) {
    EXPECT_NEAR(
        warmup_cosine(step, 7, 0),
        short_run[step].item<double>(),
        kTolerance)
        << "step " << step;
  }
}

TEST(LearningRateSchedule, ScalesBothRatesByTheFactor) {
  const LearningRateSchedule schedule{
      .base = {.weights = 1.6, .biases = 0.04},
      .total_steps = 100,
      .warmup_steps = 10};
  const LearningRates rates = schedule.at(5);
  EXPECT_EQ(rates.weights, 0.8);
  EXPECT_EQ(rates.biases, 0.02);
  EXPECT_EQ(schedule.at(100).weights, 1.6e-3);
}

}  // namespace
}  // namespace barlow::optim
