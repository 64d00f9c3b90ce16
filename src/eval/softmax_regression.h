// SPDX-License-Identifier: MIT
//
// The objective of multinomial logistic regression, and what preconditions it.

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "eval/lbfgs.h"

namespace barlow::eval::detail {

/// J(P) = mean cross-entropy of softmax(x W + b) + penalty / 2 |W|^2, where P,
/// [F + 1, C] float64, is W with b as its last row.
///
/// Rows are taken in blocks: float32 products within a block, float64 sums over
/// blocks. x [N, F] float32 and labels [N] int64 in [0, C) are shared, not
/// copied. Cost of an evaluation: 4 N F C FLOP.
class SoftmaxRegression {
 public:
  SoftmaxRegression(
      torch::Tensor x,
      torch::Tensor labels,
      std::int64_t classes,
      double penalty);

  [[nodiscard]] Evaluation evaluate(const torch::Tensor& parameters) const;

 private:
  torch::Tensor x_;
  torch::Tensor labels_;
  std::int64_t block_rows_;
  double penalty_;
};

/// x W + b for rows [n, F], float32.
[[nodiscard]] torch::Tensor scores(
    const torch::Tensor& x,
    const torch::Tensor& parameters);

/// Rows in a block: 32 MiB of the larger of features and scores. That bounds
/// the temporaries; smaller blocks would be kinder to the cache, but each
/// operation waits for all threads, which on a busy machine costs more than it
/// saves.
[[nodiscard]] std::int64_t rows_in_block(
    std::int64_t features,
    std::int64_t classes);

/// The inverse of an upper bound on J's Hessian, whatever P is:
///
///     (1/2 x^T x / N + penalty I)^-1   on W's columns,   2 on b
///
/// (D. Boehning, "Multinomial logistic regression algorithm", Annals of the
/// Institute of Statistical Mathematics 44, 1992: the Hessian of the softmax is
/// at most 1/2 I.) x has mean 0 in each column, so that b decouples.
class BoehningPreconditioner {
 public:
  /// Above this F the matrix costs more than it saves; W's part is then a
  /// number, as if the columns of x were uncorrelated.
  static constexpr std::int64_t kMaxFeatures = 4096;

  /// Cost: N F^2 FLOP, once for all penalties.
  explicit BoehningPreconditioner(const torch::Tensor& x);

  /// Cost: F^3 FLOP; then 2 F^2 C for each application.
  [[nodiscard]] Preconditioner with_penalty(double penalty) const;

 private:
  torch::Tensor half_covariance_;  // [F, F] float64, undefined above the limit
};

}  // namespace barlow::eval::detail
