// SPDX-License-Identifier: MIT
//
// The loss as the paper writes it, by autograd: what `verify` compares with.

#pragma once

#include <cstdint>

#include <torch/types.h>

namespace barlow::train::detail {

inline constexpr double kVerifyLambda = 0.0051;

/// Two views of one batch: shared signal and noise of their own, features that
/// correlate, whose means and deviations differ. [N, D] float64.
struct VerifyViews {
  torch::Tensor a;
  torch::Tensor b;
};

/// A function of the sizes alone.
[[nodiscard]] VerifyViews verify_views(
    std::int64_t samples,
    std::int64_t features);

/// [N, D], each feature with mean 0 and variance 1 (but for 1e-5).
[[nodiscard]] torch::Tensor standardized(const torch::Tensor& z);

/// The loss of a cross-correlation matrix, differentiable.
[[nodiscard]] torch::Tensor loss_of_correlation(const torch::Tensor& c);

struct VerifyResult {
  double loss = 0;
  torch::Tensor a_gradient;  ///< [N, D]
  torch::Tensor b_gradient;
};

/// The whole batch in one process.
[[nodiscard]] VerifyResult reference_loss(const VerifyViews& views);

}  // namespace barlow::train::detail
