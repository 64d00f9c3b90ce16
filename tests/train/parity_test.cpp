// SPDX-License-Identifier: MIT
//
// Twenty steps beside the same steps in Python torch (tests/oracle/train.py).

#include <string>

#include <gtest/gtest.h>

#include "barlow/model/named_state.h"
#include "barlow/optim/lars.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "support/tensors.h"

namespace barlow::train {
namespace {

Recipe parity_recipe() {
  Recipe recipe;
  recipe.backbone.architecture = "resnet18";
  recipe.projector = "128-96";
  recipe.learning_rate_batch = 0;
  return recipe;
}

// Bound: 1e-4 relative at each of the twenty steps. One step agrees to float32
// rounding (about 1e-6); batch norm over 64 images and momentum amplify that
// from step to step.
TEST(TrainingStep, FollowsPythonTorchForTwentySteps) {
  const NamedTensors steps =
      test::read_oracle(BARLOW_ORACLE_DIR, "steps.safetensors");
  const Recipe recipe = parity_recipe();
  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  model::load_state(
      *model,
      test::read_oracle(BARLOW_ORACLE_DIR, "initial.safetensors"));
  const auto optimizer = make_optimizer(recipe, model);
  const torch::Tensor expected = steps.at("losses");
  ASSERT_EQ(expected.size(0), 20);
  for (std::int64_t step = 0; step < expected.size(0); ++step) {
    std::string name(step < 10 ? 1 : 0, '0');
    name.append(std::to_string(step));
    const TrainingStepResult result = training_step(
        model,
        *optimizer,
        steps.at(name + ".a"),
        steps.at(name + ".b"),
        {.weights = 0.2, .biases = 0.0048},
        {.loss = recipe.loss});
    const double reference = expected[step].item<double>();
    EXPECT_NEAR(result.loss, reference, 1e-4 * reference) << "step " << step;
  }
}

// bfloat16 keeps 8 bits: each activation is rounded by up to 2^-9 relative, and
// the loss of an untrained network, a sum over features, by about as much.
TEST(TrainingStep, InBFloat16StaysNearFloat32AndKeepsFloat32Parameters) {
  const NamedTensors steps =
      test::read_oracle(BARLOW_ORACLE_DIR, "steps.safetensors");
  const Recipe recipe = parity_recipe();
  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  model::load_state(
      *model,
      test::read_oracle(BARLOW_ORACLE_DIR, "initial.safetensors"));
  const auto optimizer = make_optimizer(recipe, model);
  const TrainingStepResult result = training_step(
      model,
      *optimizer,
      steps.at("00.a"),
      steps.at("00.b"),
      {.weights = 0.2, .biases = 0.0048},
      {.loss = recipe.loss, .precision = Precision::kBFloat16});
  const double reference = steps.at("losses")[0].item<double>();
  EXPECT_NEAR(result.loss, reference, 0.02 * reference);
  EXPECT_NE(result.loss, reference);
  for (const torch::Tensor& parameter : model->parameters()) {
    EXPECT_EQ(parameter.scalar_type(), torch::kFloat32);
  }
}

TEST(TrainingStep, LossScaleMultipliesTheGradientAndNotTheLoss) {
  const NamedTensors steps =
      test::read_oracle(BARLOW_ORACLE_DIR, "steps.safetensors");
  const Recipe recipe = parity_recipe();
  const auto first_step = [&](double scale) {
    model::BarlowTwins model = make_model(recipe, torch::kCPU);
    const auto optimizer = make_optimizer(recipe, model);
    return training_step(
        model,
        *optimizer,
        steps.at("00.a"),
        steps.at("00.b"),
        {},
        {.loss = recipe.loss, .loss_scale = scale});
  };
  const TrainingStepResult plain = first_step(1.0);
  const TrainingStepResult scaled = first_step(0.25);  // exact in binary
  EXPECT_DOUBLE_EQ(scaled.loss, plain.loss);
  EXPECT_NEAR(
      scaled.gradient_norm,
      0.25 * plain.gradient_norm,
      1e-6 * plain.gradient_norm);
}

}  // namespace
}  // namespace barlow::train
