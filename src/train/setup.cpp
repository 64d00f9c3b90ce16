// SPDX-License-Identifier: MIT

#include "barlow/train/setup.h"

#include <algorithm>
#include <cmath>

#include <torch/cuda.h>

#include "barlow/core/error.h"
#include "barlow/model/initialize.h"
#include "barlow/model/projector.h"
#include "barlow/optim/adamw.h"
#include "barlow/optim/lars.h"
#include "barlow/optim/schedule.h"
#include "barlow/optim/sgd.h"

namespace barlow::train {

torch::Device select_device(const std::string& name, int local_rank) {
  if (name == "cpu" || (name == "auto" && !torch::cuda::is_available())) {
    return torch::kCPU;
  }
  const bool numbered =
      name.starts_with("cuda:") && name.size() <= 8 && name.size() > 5 &&
      name.find_first_not_of("0123456789", 5) == std::string::npos;
  if (name != "auto" && name != "cuda" && !numbered) {
    fail<UsageError>(
        "device: found ",
        name,
        ", expected auto, cpu, cuda or cuda:N");
  }
  const auto devices = static_cast<int>(torch::cuda::device_count());
  const int index =
      numbered ? std::stoi(name.substr(5)) : local_rank % std::max(devices, 1);
  if (index >= devices) {
    fail<UsageError>(
        "device: found ",
        name,
        ", but LibTorch sees ",
        devices,
        " CUDA devices here");
  }
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

model::ResNetOptions backbone_options(const Recipe& recipe) {
  model::ResNetOptions options = recipe.backbone;
  options.in_channels = recipe.channels;
  options.blocks = model::parse_blocks(recipe.blocks);
  return options;
}

model::BarlowTwins make_model(const Recipe& recipe, torch::Device device) {
  model::BarlowTwins model(
      backbone_options(recipe),
      model::parse_projector(recipe.projector));
  model::initialize_parameters(*model, recipe.seed);
  model->to(device);
  model->to_channels_last();
  model->train();
  return model;
}

std::unique_ptr<optim::Optimizer> make_optimizer(
    const Recipe& recipe,
    const model::BarlowTwins& model) {
  const optim::ParameterGroups groups =
      optim::group_parameters(model->named_parameters());
  switch (recipe.optimizer) {
    case OptimizerKind::kLars:
    case OptimizerKind::kClippedLars:
      return std::make_unique<optim::Lars>(
          groups,
          optim::LarsOptions{
              .weight_decay = recipe.weight_decay,
              .momentum = recipe.momentum,
              .trust_coefficient = recipe.trust_coefficient,
              .trust_ratio = recipe.optimizer == OptimizerKind::kLars
                                 ? optim::TrustRatio::kPlain
                                 : optim::TrustRatio::kClipped});
    case OptimizerKind::kSgd:
      return std::make_unique<optim::Sgd>(
          groups,
          optim::SgdOptions{
              .weight_decay = recipe.weight_decay,
              .momentum = recipe.momentum});
    case OptimizerKind::kAdamW:
      break;
  }
  return std::make_unique<optim::AdamW>(
      groups,
      optim::AdamWOptions{.weight_decay = recipe.weight_decay});
}

TrainingStepOptions training_step_options(const Recipe& recipe) {
  return {
      .loss = recipe.loss,
      .correlation = recipe.correlation,
      .loss_scale = recipe.loss_scale,
      .precision = recipe.precision,
      .micro_batch = recipe.micro_batch};
}

data::TwoViewLoaderOptions loader_options(
    const Recipe& recipe,
    const dist::ProcessGroup& group) {
  return {
      .global_batch_size = recipe.batch_size,
      .seed = recipe.seed,
      .on_partial_batch = recipe.partial_batch,
      .channels = static_cast<int>(recipe.channels),
      .view_a = recipe.view_a,
      .view_b = recipe.view_b,
      .normalization = recipe.normalization,
      .workers = static_cast<int>(recipe.workers),
      .queue_batches = static_cast<int>(recipe.queue_batches),
      .rank = group.rank(),
      .world_size = group.size(),
      .memory_format = data::MemoryFormat::kChannelsLast};
}

optim::LearningRates learning_rates(
    const Recipe& recipe,
    std::int64_t step,
    std::int64_t steps_per_epoch) {
  const double scale = recipe.learning_rate_batch > 0
                           ? static_cast<double>(recipe.batch_size) /
                                 static_cast<double>(recipe.learning_rate_batch)
                           : 1.0;
  const optim::LearningRateSchedule schedule{
      .base =
          {.weights = scale * recipe.learning_rate_weights,
           .biases = scale * recipe.learning_rate_biases},
      .total_steps = steps_per_epoch * recipe.epochs,
      .warmup_steps = std::llround(
          recipe.warmup_epochs * static_cast<double>(steps_per_epoch))};
  return schedule.at(step);
}

}  // namespace barlow::train
