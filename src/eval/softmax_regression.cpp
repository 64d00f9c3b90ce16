// SPDX-License-Identifier: MIT

#include "eval/softmax_regression.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace barlow::eval::detail {

std::int64_t rows_in_block(std::int64_t features, std::int64_t classes) {
  constexpr std::int64_t kBlockBytes = std::int64_t{32} << 20;
  constexpr std::int64_t kMinRows = 64;
  return std::max(kBlockBytes / (4 * std::max(features, classes)), kMinRows);
}

torch::Tensor scores(const torch::Tensor& x, const torch::Tensor& parameters) {
  const std::int64_t features = x.size(1);
  const torch::Tensor p = parameters.to(torch::kFloat32);
  return torch::addmm(p[features], x, p.narrow(0, 0, features));
}

SoftmaxRegression::SoftmaxRegression(
    torch::Tensor x,
    torch::Tensor labels,
    std::int64_t classes,
    double penalty)
    : x_(std::move(x)),
      labels_(std::move(labels)),
      block_rows_(rows_in_block(x_.size(1), classes)),
      penalty_(penalty) {}

Evaluation SoftmaxRegression::evaluate(const torch::Tensor& parameters) const {
  const std::int64_t features = x_.size(1);
  const std::int64_t total = x_.size(0);
  Evaluation result{0.0, torch::zeros_like(parameters)};
  torch::Tensor weight_gradient = result.gradient.narrow(0, 0, features);
  torch::Tensor bias_gradient = result.gradient[features];
  const torch::Tensor minus_one = torch::full({1, 1}, -1.0F);
  for (std::int64_t first = 0; first < total; first += block_rows_) {
    const std::int64_t rows = std::min(block_rows_, total - first);
    const torch::Tensor x = x_.narrow(0, first, rows);
    const torch::Tensor label = labels_.narrow(0, first, rows).unsqueeze(1);
    torch::Tensor log_shares = scores(x, parameters).log_softmax(1);
    result.value -=
        log_shares.gather(1, label).sum(torch::kFloat64).item<double>();
    // Turns into the gradient with respect to the scores: share - [label].
    log_shares.exp_().scatter_add_(1, label, minus_one.expand({rows, 1}));
    weight_gradient.add_(torch::mm(x.t(), log_shares));
    bias_gradient.add_(log_shares.sum(0, /*keepdim=*/false, torch::kFloat64));
  }
  const auto count = static_cast<double>(total);
  const torch::Tensor weight = parameters.narrow(0, 0, features);
  result.value = result.value / count +
                 0.5 * penalty_ * weight.square().sum().item<double>();
  result.gradient.div_(count);
  weight_gradient.add_(weight, penalty_);
  return result;
}

BoehningPreconditioner::BoehningPreconditioner(const torch::Tensor& x) {
  if (x.size(1) <= kMaxFeatures) {
    half_covariance_ = torch::mm(x.t(), x)
                           .to(torch::kFloat64)
                           .mul_(0.5 / static_cast<double>(x.size(0)));
  }
}

Preconditioner BoehningPreconditioner::with_penalty(double penalty) const {
  if (!half_covariance_.defined()) {
    return [penalty](const torch::Tensor& gradient) {
      torch::Tensor result = gradient / (0.5 + penalty);
      result[-1].copy_(gradient[-1] * 2);
      return result;
    };
  }
  // x^T x is a float32 product: rounding can leave it indefinite by more than a
  // small penalty makes up for.
  torch::Tensor factor;
  for (double shift = penalty;; shift *= 10) {
    torch::Tensor shifted = half_covariance_.clone();
    shifted.diagonal().add_(shift);
    torch::Tensor info;
    std::tie(factor, info) = torch::linalg_cholesky_ex(shifted);
    if (info.item<int>() == 0) {
      break;
    }
  }
  // The inverse itself, since triangular solves of few columns make threads
  // wait for each other at every block.
  return [inverse =
              torch::cholesky_inverse(factor)](const torch::Tensor& gradient) {
    const std::int64_t features = inverse.size(0);
    torch::Tensor result = gradient * 2;
    result.narrow(0, 0, features)
        .copy_(torch::mm(inverse, gradient.narrow(0, 0, features)));
    return result;
  };
}

}  // namespace barlow::eval::detail
