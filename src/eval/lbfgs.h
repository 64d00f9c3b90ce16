// SPDX-License-Identifier: MIT
//
// Minimisation of a smooth function by L-BFGS.
//
// D. C. Liu, J. Nocedal, "On the Limited Memory BFGS Method for Large Scale
// Optimization", Mathematical Programming 45, 1989; the line search is that of
// A. S. Lewis, M. L. Overton, "Nonsmooth Optimization via Quasi-Newton
// Methods", Mathematical Programming 141, 2013.

#pragma once

#include <cstdint>
#include <functional>

#include <torch/types.h>

namespace barlow::eval::detail {

struct Evaluation {
  double value = 0.0;
  torch::Tensor gradient;  // float64, shape of the point
};

using Objective = std::function<Evaluation(const torch::Tensor& point)>;

/// Applies a fixed symmetric positive definite approximation of the inverse
/// Hessian to a gradient.
using Preconditioner = std::function<torch::Tensor(const torch::Tensor&)>;

struct LbfgsOptions {
  std::int64_t max_iterations = 500;
  double gradient_tolerance = 1e-4;  // on the Euclidean norm
  std::size_t history = 10;          // pairs of vectors kept
  /// Relative error of the objective's values: the line search takes a rise of
  /// so much for none, or rounding would stop it short of the minimum.
  double value_noise = 1e-7;
};

struct LbfgsResult {
  torch::Tensor point;
  double value = 0.0;
  double gradient_norm = 0.0;
  std::int64_t iterations = 0;
  bool converged = false;
};

/// From `start` (float64, not changed). Stops at the tolerance, after
/// max_iterations, or where no step along the search direction descends any
/// more, which rounding brings about in the end.
[[nodiscard]] LbfgsResult minimise(
    const Objective& objective,
    const Preconditioner& precondition,
    const torch::Tensor& start,
    const LbfgsOptions& options);

}  // namespace barlow::eval::detail
