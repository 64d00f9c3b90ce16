// SPDX-License-Identifier: MIT

#include "bench/trainee.h"

namespace barlow::bench {
namespace {

train::Recipe recipe_of(const TraineeShape& shape) {
  train::Recipe recipe;
  recipe.backbone.architecture = shape.architecture;
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.projector = shape.projector;
  recipe.batch_size = shape.batch;
  return recipe;
}

}  // namespace

Trainee::Trainee(
    const TraineeShape& shape,
    dist::GradientExchange exchange,
    const dist::ProcessGroup& group)
    : recipe_(recipe_of(shape)),
      model_(train::make_model(recipe_, torch::kCPU)),
      optimizer_(train::make_optimizer(recipe_, model_)),
      images_(torch::full(
          {shape.batch / group.size(), 3, shape.side, shape.side},
          0.5)) {
  // Any numbers that are not all equal.
  images_.mul_(torch::arange(images_.numel()).remainder(97).view_as(images_));
  images_ = images_.contiguous(torch::MemoryFormat::ChannelsLast);
  train::TrainingStepOptions options = train::training_step_options(recipe_);
  options.exchange.exchange = exchange;
  step_ = std::make_unique<train::TrainingStep>(
      model_,
      *optimizer_,
      options,
      group);
}

void Trainee::step() {
  static_cast<void>(step_->run(images_, images_ * 0.9, {1e-4, 1e-4}));
}

}  // namespace barlow::bench
