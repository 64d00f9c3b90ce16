// SPDX-License-Identifier: MIT

#include "barlow/train/training_step.h"

#include <cmath>
#include <optional>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/model/autocast.h"
#include "barlow/model/layers.h"

namespace barlow::train {

TrainingStep::TrainingStep(
    model::BarlowTwins model,
    optim::Optimizer& optimizer,
    const TrainingStepOptions& options,
    const dist::ProcessGroup& group)
    : model_(std::move(model)),
      optimizer_(optimizer),
      options_(options),
      group_(group),
      loss_group_(
          options.correlation == Correlation::kGlobal ? group
                                                      : dist::ProcessGroup()),
      averager_(model_->parameters(), group, options.exchange) {
  model::synchronize_batch_norm(*model_, group);
}

TrainingStepResult TrainingStep::run(
    const torch::Tensor& view_a,
    const torch::Tensor& view_b,
    const optim::LearningRates& rates) {
  const auto [z_a, z_b] = embed_twice(view_a, view_b);
  const BarlowTwinsLoss loss =
      barlow_twins_loss(z_a, z_b, options_.loss, loss_group_);
  TrainingStepResult result = read(loss);
  if (!std::isfinite(result.loss)) {
    fail("the loss is ", result.loss, ": lower the learning rates");
  }

  optimizer_.zero_grad();
  averager_.begin();
  (loss.total * options_.loss_scale).backward();
  averager_.finish();
  result.gradient_norm = gradient_norm();
  optimizer_.step(rates);
  return result;
}

std::pair<torch::Tensor, torch::Tensor> TrainingStep::embed_twice(
    const torch::Tensor& view_a,
    const torch::Tensor& view_b) {
  std::optional<model::AutocastScope> autocast;
  if (options_.precision == Precision::kBFloat16) {
    autocast.emplace(view_a.device().type(), torch::kBFloat16);
  }
  return model_->forward(view_a, view_b);
}

TrainingStepResult TrainingStep::read(const BarlowTwinsLoss& loss) const {
  torch::Tensor terms = torch::stack(
      {loss.total.detach().to(torch::kFloat64),
       loss.invariance.to(torch::kFloat64),
       loss.redundancy.to(torch::kFloat64),
       loss.constant_features.to(torch::kFloat64)});
  if (options_.correlation == Correlation::kPerRank) {
    group_.all_reduce_sum_(terms);
    terms.div_(group_.size());
  }
  terms = terms.cpu();
  const double* values = terms.data_ptr<double>();
  return {
      .loss = values[0],
      .invariance = values[1],
      .redundancy = values[2],
      .constant_features = std::llround(values[3])};
}

// Not Tensor::norm: LibTorch 1.13's float32 sum on the CPU is off by up to some
// percent for tensors of tens of millions of numbers.
double TrainingStep::gradient_norm() const {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> squares;
  for (const torch::Tensor& parameter : model_->parameters()) {
    if (parameter.grad().defined()) {
      squares.push_back(parameter.grad().square().sum());
    }
  }
  return std::sqrt(torch::stack(squares).sum(torch::kFloat64).item<double>());
}

}  // namespace barlow::train
