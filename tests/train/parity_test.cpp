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
  recipe.blocks = "1-1-1-1";
  recipe.projector = "128-96";
  return recipe;
}

NamedTensors oracle_steps() {
  return test::read_oracle(BARLOW_ORACLE_DIR, "steps.safetensors");
}

model::BarlowTwins oracle_model(const Recipe& recipe, torch::Dtype type) {
  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  model::load_state(
      *model,
      test::read_oracle(BARLOW_ORACLE_DIR, "initial.safetensors"));
  model->to(type);
  return model;
}

std::string step_name(std::int64_t step) {
  std::string name(step < 10 ? 1 : 0, '0');
  name.append(std::to_string(step));
  return name;
}

// Bound: 1e-4 relative at each of the twenty steps. One step agrees to float32
// rounding, about 1e-6; batch norm over 64 values a channel in the last stage,
// and momentum, amplify that from step to step. Rates rise as in the recipe's
// warm-up, ten times as fast; with full rates float32 itself is chaotic here.
TEST(TrainingStep, FollowsPythonTorchForTwentySteps) {
  const NamedTensors steps = oracle_steps();
  const Recipe recipe = parity_recipe();
  model::BarlowTwins model = oracle_model(recipe, torch::kFloat32);
  const auto optimizer = make_optimizer(recipe, model);
  const torch::Tensor expected = steps.at("losses");
  ASSERT_EQ(expected.size(0), 20);
  for (std::int64_t step = 0; step < expected.size(0); ++step) {
    const double factor = static_cast<double>(step) / 500;
    const TrainingStepResult result =
        TrainingStep(model, *optimizer, {.loss = recipe.loss})
            .run(
                steps.at(step_name(step) + ".a"),
                steps.at(step_name(step) + ".b"),
                {.weights = 0.2 * factor, .biases = 0.0048 * factor});
    const double reference = expected[step].item<double>();
    EXPECT_NEAR(result.loss, reference, 1e-4 * reference) << "step " << step;
  }
}

// The same method with full rates in float64: rounding, 1e-16, is amplified
// about a thousandfold a step at most.
TEST(TrainingStep, FollowsPythonTorchInFloat64WithFullRates) {
  const NamedTensors steps = oracle_steps();
  const Recipe recipe = parity_recipe();
  model::BarlowTwins model = oracle_model(recipe, torch::kFloat64);
  const auto optimizer = make_optimizer(recipe, model);
  const torch::Tensor expected = steps.at("losses_float64");
  ASSERT_EQ(expected.size(0), 4);
  for (std::int64_t step = 0; step < expected.size(0); ++step) {
    const auto view = [&](const char* letter) {
      return steps.at(step_name(step) + letter)
          .narrow(0, 0, 16)
          .to(torch::kFloat64);
    };
    const TrainingStepResult result =
        TrainingStep(model, *optimizer, {.loss = recipe.loss})
            .run(view(".a"), view(".b"), {.weights = 0.2, .biases = 0.0048});
    const double reference = expected[step].item<double>();
    EXPECT_NEAR(result.loss, reference, 1e-7 * reference) << "step " << step;
  }
}

// bfloat16 keeps 8 bits: each activation is rounded by up to 2^-9 relative, and
// the loss of an untrained network, a sum over features, by about as much.
TEST(TrainingStep, InBFloat16StaysNearFloat32AndKeepsFloat32Parameters) {
  const NamedTensors steps = oracle_steps();
  const Recipe recipe = parity_recipe();
  model::BarlowTwins model = oracle_model(recipe, torch::kFloat32);
  const auto optimizer = make_optimizer(recipe, model);
  const TrainingStepResult result =
      TrainingStep(
          model,
          *optimizer,
          {.loss = recipe.loss, .precision = Precision::kBFloat16})
          .run(
              steps.at("00.a"),
              steps.at("00.b"),
              {.weights = 0.2, .biases = 0.0048});
  const double reference = steps.at("losses")[0].item<double>();
  EXPECT_NEAR(result.loss, reference, 0.02 * reference);
  EXPECT_NE(result.loss, reference);
  for (const torch::Tensor& parameter : model->parameters()) {
    EXPECT_EQ(parameter.scalar_type(), torch::kFloat32);
  }
}

TEST(TrainingStep, LossScaleMultipliesTheGradientAndNotTheLoss) {
  const NamedTensors steps = oracle_steps();
  const Recipe recipe = parity_recipe();
  const auto first_step = [&](double scale) {
    model::BarlowTwins model = make_model(recipe, torch::kCPU);
    const auto optimizer = make_optimizer(recipe, model);
    return TrainingStep(
               model,
               *optimizer,
               {.loss = recipe.loss, .loss_scale = scale})
        .run(steps.at("00.a"), steps.at("00.b"), {});
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
