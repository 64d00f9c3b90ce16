// SPDX-License-Identifier: MIT

#include <gtest/gtest.h>

#include "barlow/train/setup.h"

namespace barlow::train {
namespace {

// The authors' rates at batch 1024 are four times those at 256.
TEST(LearningRates, GrowWithTheBatchAndFollowWarmUpAndCosine) {
  Recipe recipe;
  recipe.epochs = 110;
  recipe.batch_size = 1024;
  recipe.warmup_epochs = 10;
  const auto rates = [&](std::int64_t step) {
    return learning_rates(recipe, step, /*steps_per_epoch=*/5);
  };
  EXPECT_DOUBLE_EQ(rates(0).weights, 0.0);
  EXPECT_DOUBLE_EQ(rates(25).weights, 0.4);
  EXPECT_DOUBLE_EQ(rates(50).weights, 0.8);
  EXPECT_DOUBLE_EQ(rates(50).biases, 4 * 0.0048);
  EXPECT_NEAR(rates(300).weights, 0.8 * (0.5 + 0.0005), 1e-12);
  EXPECT_NEAR(rates(550).weights, 0.8 * 0.001, 1e-12);
}

TEST(LearningRates, AreAsGivenWhenNotTiedToABatch) {
  Recipe recipe;
  recipe.learning_rate_batch = 0;
  recipe.warmup_epochs = 0;
  EXPECT_DOUBLE_EQ(learning_rates(recipe, 0, 10).weights, 0.2);
}

}  // namespace
}  // namespace barlow::train
