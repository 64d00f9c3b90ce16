// SPDX-License-Identifier: MIT
//
// Which of the loss's two exact formulations to use, and what each would cost.

#pragma once

#include <cstdint>

#include <torch/types.h>

namespace barlow {

/// How the loss and its gradient are computed. Both are exact (docs/math.md).
enum class LossPath {
  kAuto,          ///< the planner chooses, from the global shape alone
  kFeatureSpace,  ///< by the D x D cross-correlation matrix
  kSampleSpace,   ///< by the N x N Gram matrices of the two views
};

/// What the cost depends on. Equal on every rank, or ranks would part ways.
struct LossShape {
  std::int64_t samples = 0;        ///< N, the global batch, >= 1
  std::int64_t features = 0;       ///< D, >= 1
  std::int64_t ranks = 1;          ///< W, >= 1
  std::int64_t rows_per_rank = 0;  ///< n of the largest rank, in [N / W, N]
  std::int64_t views_with_gradient = 2;            ///< 0, 1 or 2
  torch::ScalarType input_type = torch::kFloat32;  ///< of the embeddings
  /// BarlowTwinsLossOptions::product_type
  torch::ScalarType product_type = torch::kFloat32;
};

/// Estimates for the rank with the most rows, beyond what both paths share
/// (statistics and standardisation, O(n D)).
struct LossPathCost {
  /// Of matrix products, 2 per multiply-add.
  double flops = 0;
  /// Peak of temporaries and of what is kept for the backward pass.
  double memory_bytes = 0;
  /// Passes over the path's largest temporaries.
  double traffic_bytes = 0;
  /// Sent by each rank, all collectives of the loss included, if they are
  /// ring algorithms: 2 (W - 1) / W of the payload for an all-reduce,
  /// (W - 1) / W of the result for an all-gather.
  double communicated_bytes = 0;
};

/// A decision and its grounds.
struct LossPlan {
  LossPath path = LossPath::kFeatureSpace;           ///< never kAuto
  torch::ScalarType compute_type = torch::kFloat32;  ///< float32 or float64
  torch::ScalarType product_type = torch::kFloat32;  ///< that, or bfloat16
  LossPathCost feature_space;
  LossPathCost sample_space;
};

/// Chooses the path for a shape, or takes `requested` if it is not kAuto.
///
/// Rule. The path with the smaller flops + 10 traffic_bytes + 100
/// communicated_bytes, and feature space whenever N > 0.8 D. The weights are
/// the arithmetic that a device does in the time of moving a byte: about 10 to
/// memory on CPUs and GPUs in float32, 100 or more to another rank. The flops
/// compare as 6 D to 8 N (2 D to 4 N without gradients) for any n; as D to N in
/// a single process, where half of each symmetric Gram matrix is computed.
/// Measured on one AVX-512 core, W = 1, both gradients (bench/run loss): at
/// N = 0.75 D sample space takes 0.8 to 1.02 of feature space's time for D from
/// 256 to 2048, at N = D 1.07 to 1.34 of it.
///
/// The bound 0.8 keeps float32 accurate: sample space finds the off-diagonal
/// sum as ||C||_F^2 - sum_i C_ii^2. C has rank < N, so tr(C)^2 <= (N - 1)
/// ||C||_F^2, and when training has brought C_ii near 1 the difference is at
/// least D / (N - 1) - 1 times what is subtracted: rounding grows by
/// D / (D - N + 1) < 5 at most.
///
/// compute_type is float64 for float64 inputs, for N <= 4 and where the chosen
/// path takes at most 2^26 flop over all ranks; else float32. At N = 2 the
/// standardised values are +-1 but for variance_epsilon, so the gradient is a
/// difference of nearly equal numbers; small sizes cost nothing in float64.
///
/// Throws c10::ValueError if a field is out of range. Pure, thread-safe.
[[nodiscard]] LossPlan plan_loss_path(
    const LossShape& shape,
    LossPath requested = LossPath::kAuto);

}  // namespace barlow
