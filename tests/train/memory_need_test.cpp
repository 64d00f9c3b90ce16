// SPDX-License-Identifier: MIT

#include "barlow/train/memory_need.h"

#include <gtest/gtest.h>

#include "barlow/core/peak_memory.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "support/tensors.h"

namespace barlow::train {
namespace {

Recipe recipe_of(std::int64_t batch, std::int64_t micro_batch) {
  Recipe recipe;
  recipe.batch_size = batch;
  recipe.micro_batch = micro_batch;
  recipe.backbone.architecture = "resnet18";
  recipe.backbone.width_factor = 0.25;
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.projector = "64-64";
  recipe.view_a.size = 24;
  recipe.view_b.size = 24;
  return recipe;
}

struct Case {
  std::int64_t batch;
  std::int64_t micro_batch;
  Precision precision;
};

class MemoryNeedOf : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Recipes,
    MemoryNeedOf,
    testing::Values(
        Case{64, 0, Precision::kFloat32},
        Case{64, 16, Precision::kFloat32},
        Case{64, 0, Precision::kBFloat16}));

TEST_P(MemoryNeedOf, IsWhatAStepTakes) {
  Recipe recipe = recipe_of(GetParam().batch, GetParam().micro_batch);
  recipe.precision = GetParam().precision;
  const MemoryNeed need = memory_need(recipe);

  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  const auto optimizer = make_optimizer(recipe, model);
  TrainingStep step(model, *optimizer, training_step_options(recipe));
  const torch::Tensor view = test::normal({recipe.batch_size, 3, 24, 24}, 1)
                                 .to(torch::kFloat32)
                                 .contiguous(torch::MemoryFormat::ChannelsLast);
  const std::int64_t peak =
      measure_memory([&] {
        static_cast<void>(step.run(view, view * 0.5, {0, 0}));
      }).peak_bytes;
  std::int64_t gradients = 0;
  for (const torch::Tensor& parameter : model->parameters()) {
    gradients += static_cast<std::int64_t>(parameter.nbytes());
  }
  // LARS keeps one number a parameter: weights, gradients, momentum.
  EXPECT_NEAR(
      static_cast<double>(need.weights),
      3.0 * static_cast<double>(gradients),
      0.01 * static_cast<double>(gradients));
  const auto expected =
      static_cast<double>(need.activations + need.loss + gradients);
  EXPECT_NEAR(static_cast<double>(peak), expected, 0.2 * expected);
}

TEST(MemoryNeed, ShrinksWithRanksAndMicroBatches) {
  const MemoryNeed whole = memory_need(recipe_of(64, 0));
  const MemoryNeed half = memory_need(recipe_of(64, 0), 2);
  EXPECT_NEAR(
      static_cast<double>(half.activations),
      static_cast<double>(whole.activations) / 2,
      1);
  EXPECT_GT(half.weights, whole.weights);  // the messages of gradients
  const MemoryNeed pieces = memory_need(recipe_of(64, 8));
  EXPECT_EQ(pieces.activations * 16, whole.activations);
  // Prepared batches: two views of three channels, 5 times 64 images.
  EXPECT_EQ(whole.batches, 4L * 3 * 2 * 24 * 24 * 64 * 5);
}

}  // namespace
}  // namespace barlow::train
