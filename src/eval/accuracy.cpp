// SPDX-License-Identifier: MIT

#include "barlow/eval/accuracy.h"

namespace barlow::eval {
namespace {

double share_below(const torch::Tensor& ranks, std::int64_t bound) {
  return static_cast<double>(ranks.lt(bound).sum().item<std::int64_t>()) /
         static_cast<double>(ranks.numel());
}

}  // namespace

torch::Tensor label_ranks(
    const torch::Tensor& scores,
    const torch::Tensor& labels) {
  const std::int64_t classes = scores.size(1);
  const torch::Tensor known = labels.lt(classes);
  const torch::Tensor column =
      torch::where(known, labels, torch::zeros_like(labels)).unsqueeze(1);
  const torch::Tensor own = scores.gather(1, column);
  const torch::Tensor order = torch::arange(classes, torch::kInt64);
  const torch::Tensor before =
      scores.gt(own).logical_or(scores.eq(own).logical_and(order.lt(column)));
  return torch::where(known, before.sum(1), torch::full_like(labels, classes));
}

Accuracy accuracy_of_ranks(const torch::Tensor& ranks, std::int64_t classes) {
  TORCH_CHECK_VALUE(
      ranks.numel() >= 1,
      "accuracy_of_ranks: expected at least one image");
  Accuracy accuracy{.top1 = share_below(ranks, 1), .top5 = std::nullopt};
  if (classes > 5) {
    accuracy.top5 = share_below(ranks, 5);
  }
  return accuracy;
}

}  // namespace barlow::eval
