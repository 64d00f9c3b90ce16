// SPDX-License-Identifier: MIT

#include "barlow/model/micro_batch_statistics.h"

namespace barlow::model {

MicroBatchStatistics::MicroBatchStatistics(torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  for (BatchNormImpl* norm : batch_norms(module)) {
    const torch::Tensor zero =
        torch::zeros_like(norm->running_mean, torch::kFloat64);
    entries_.push_back(
        {norm,
         norm->running_mean.clone(),
         norm->running_var.clone(),
         zero,
         zero.clone()});
    norm->set_running_statistics(RunningStatistics::kReplace);
  }
}

MicroBatchStatistics::~MicroBatchStatistics() {
  if (!finished_) {
    restore();
  }
}

void MicroBatchStatistics::restore() {
  const torch::NoGradGuard no_grad;
  for (const Entry& entry : entries_) {
    entry.norm->running_mean.copy_(entry.mean_before);
    entry.norm->running_var.copy_(entry.var_before);
    entry.norm->set_running_statistics(RunningStatistics::kUpdate);
  }
  finished_ = true;
}

void MicroBatchStatistics::add() {
  const torch::NoGradGuard no_grad;
  for (Entry& entry : entries_) {
    entry.mean_sum += entry.norm->running_mean;
    entry.var_sum += entry.norm->running_var;
  }
  ++pieces_;
}

void MicroBatchStatistics::finish() {
  TORCH_CHECK(pieces_ > 0, "MicroBatchStatistics: finish without a piece");
  restore();
  const torch::NoGradGuard no_grad;
  for (Entry& entry : entries_) {
    BatchNormImpl& norm = *entry.norm;
    const double momentum = norm.options().momentum;
    const auto move = [&](torch::Tensor& running, torch::Tensor& sum) {
      running.mul_(1 - momentum)
          .add_(sum.div_(pieces_).to(running.scalar_type()), momentum);
    };
    move(norm.running_mean, entry.mean_sum);
    move(norm.running_var, entry.var_sum);
    norm.num_batches_tracked.add_(1);
  }
}

RunningStatisticsScope::RunningStatisticsScope(
    torch::nn::Module& module,
    RunningStatistics use)
    : norms_(batch_norms(module)) {
  for (BatchNormImpl* norm : norms_) {
    norm->set_running_statistics(use);
  }
}

RunningStatisticsScope::~RunningStatisticsScope() {
  for (BatchNormImpl* norm : norms_) {
    norm->set_running_statistics(RunningStatistics::kUpdate);
  }
}

}  // namespace barlow::model
