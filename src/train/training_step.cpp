// SPDX-License-Identifier: MIT

#include "barlow/train/training_step.h"

#include <cmath>
#include <optional>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/model/autocast.h"

namespace barlow::train {
namespace {

std::pair<torch::Tensor, torch::Tensor> embed_twice(
    model::BarlowTwins& model,
    const torch::Tensor& view_a,
    const torch::Tensor& view_b,
    Precision precision) {
  std::optional<model::AutocastScope> autocast;
  if (precision == Precision::kBFloat16) {
    autocast.emplace(view_a.device().type(), torch::kBFloat16);
  }
  return model->forward(view_a, view_b);
}

// Not Tensor::norm: LibTorch 1.13's float32 sum on the CPU is off by up to some
// percent for tensors of tens of millions of numbers.
double gradient_norm(const model::BarlowTwins& model) {
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> squares;
  for (const torch::Tensor& parameter : model->parameters()) {
    if (parameter.grad().defined()) {
      squares.push_back(parameter.grad().square().sum());
    }
  }
  return std::sqrt(torch::stack(squares).sum(torch::kFloat64).item<double>());
}

}  // namespace

TrainingStepResult training_step(
    model::BarlowTwins& model,
    optim::Optimizer& optimizer,
    const torch::Tensor& view_a,
    const torch::Tensor& view_b,
    const optim::LearningRates& rates,
    const TrainingStepOptions& options,
    const dist::ProcessGroup& group) {
  const auto [z_a, z_b] = embed_twice(model, view_a, view_b, options.precision);
  const BarlowTwinsLoss loss = barlow_twins_loss(z_a, z_b, options.loss, group);

  TrainingStepResult result;
  result.loss = loss.total.item<double>();
  result.invariance = loss.invariance.item<double>();
  result.redundancy = loss.redundancy.item<double>();
  result.constant_features = loss.constant_features.item<std::int64_t>();
  if (!std::isfinite(result.loss)) {
    fail("the loss is ", result.loss, ": lower the learning rates");
  }

  optimizer.zero_grad();
  (loss.total * options.loss_scale).backward();
  result.gradient_norm = gradient_norm(model);
  optimizer.step(rates);
  return result;
}

}  // namespace barlow::train
