// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "barlow/core/random.h"
#include "barlow/data/sampler.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "barlow/train/verify.h"

namespace barlow::train {
namespace {

constexpr std::int64_t kBatch = 47;
constexpr std::int64_t kSide = 12;
constexpr std::int64_t kSteps = 20;

// The rates of step i are i / kWarmupSteps of the authors' for batch 256.
constexpr double kWarmupSteps = 500;

Recipe small_recipe() {
  Recipe recipe;
  recipe.channels = 1;
  recipe.batch_size = kBatch;
  recipe.backbone.architecture = "resnet18";
  recipe.backbone.width_factor = 0.25;
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.blocks = "1-1";
  recipe.projector = "32-16";
  return recipe;
}

// One view of the global batch of a step: a picture of noise an image, shared
// by the views, and noise of the view's own.
torch::Tensor global_view(std::int64_t step, std::uint8_t view) {
  torch::Tensor images = torch::empty({kBatch, 1, kSide, kSide});
  float* pixel = images.data_ptr<float>();
  for (std::int64_t i = 0; i < kBatch; ++i) {
    const auto key = [&](std::uint8_t which) {
      return StreamKey{
          .epoch = static_cast<std::uint64_t>(step),
          .image = static_cast<std::uint64_t>(i),
          .view = which};
    };
    RandomStream shared(key(0));
    RandomStream own(key(view));
    for (std::int64_t p = 0; p < kSide * kSide; ++p) {
      *pixel++ = static_cast<float>(shared.normal() + 0.5 * own.normal());
    }
  }
  return images;
}

struct Trajectory {
  std::vector<double> losses;
  torch::Tensor encoder;  // all its parameters, one after the other
};

Trajectory train_steps(
    const dist::ProcessGroup& group,
    torch::Device device,
    torch::ScalarType type) {
  const Recipe recipe = small_recipe();
  model::BarlowTwins model = make_model(recipe, device);
  model->to(type);
  const auto optimizer = make_optimizer(recipe, model);
  TrainingStep step(model, *optimizer, training_step_options(recipe), group);
  const data::Slice rows = data::rank_slice(kBatch, group.rank(), group.size());
  Trajectory result;
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const auto own_rows = [&](std::uint8_t view) {
      return global_view(i, view)
          .narrow(0, rows.begin, rows.size())
          .to(device, type)
          .contiguous(torch::MemoryFormat::ChannelsLast);
    };
    const double share =
        type == torch::kFloat64 ? 1.0 : static_cast<double>(i) / kWarmupSteps;
    result.losses.push_back(
        step.run(
                own_rows(1),
                own_rows(2),
                {.weights = share * recipe.learning_rate_weights,
                 .biases = share * recipe.learning_rate_biases})
            .loss);
  }
  std::vector<torch::Tensor> parts;
  for (const torch::Tensor& parameter : model->backbone()->parameters()) {
    parts.push_back(
        parameter.detach().to(torch::kCPU, torch::kFloat64).reshape(-1));
  }
  result.encoder = torch::cat(parts);
  return result;
}

double relative_difference(
    const torch::Tensor& found,
    const torch::Tensor& expected) {
  const auto length = [](const torch::Tensor& tensor) {
    return std::sqrt(tensor.square().sum().item<double>());
  };
  const double size = length(expected);
  const double difference = length(found - expected);
  return size > 0 ? difference / size : difference;
}

// Of any rank: NaN, which compares to nothing, counts as the worst.
double worst_of_ranks(double own, const dist::ProcessGroup& group) {
  const torch::Tensor all = group.all_gather_rows(
      torch::full({1, 1}, own, torch::kFloat64),
      std::vector<std::int64_t>(static_cast<std::size_t>(group.size()), 1));
  return all.max().item<double>();
}

}  // namespace

TrainingBounds training_bounds(torch::ScalarType type) {
  return type == torch::kFloat64 ? TrainingBounds{1e-9, 1e-9}
                                 : TrainingBounds{1e-5, 1e-4};
}

TrainingCheck verify_training(
    const dist::ProcessGroup& group,
    torch::Device device,
    torch::ScalarType type) {
  const Trajectory expected = train_steps({}, device, type);
  const Trajectory found = train_steps(group, device, type);
  TrainingCheck check{.ranks = group.size(), .type = type};
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    check.loss_error = std::max(
        check.loss_error,
        std::abs(found.losses[i] / expected.losses[i] - 1));
  }
  check.weights_error = relative_difference(found.encoder, expected.encoder);
  check.loss_error = worst_of_ranks(check.loss_error, group);
  check.weights_error = worst_of_ranks(check.weights_error, group);
  return check;
}

}  // namespace barlow::train
