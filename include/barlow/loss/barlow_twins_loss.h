// SPDX-License-Identifier: MIT
//
// The Barlow Twins objective.
//
// J. Zbontar, L. Jing, I. Misra, Y. LeCun, S. Deny, "Barlow Twins:
// Self-Supervised Learning via Redundancy Reduction", ICML 2021,
// https://arxiv.org/abs/2103.03230. Equation numbers below are the paper's.

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "barlow/dist/process_group.h"
#include "barlow/loss/planner.h"

namespace barlow {

/// Hyper-parameters of `barlow_twins_loss`.
struct BarlowTwinsLossOptions {
  /// Weight of the redundancy-reduction term, finite, >= 0. The paper reports
  /// 5e-3, the authors' code uses 0.0051.
  double lambda = 5e-3;

  /// Added to each feature's variance under the square root, finite, > 0, in
  /// the squared units of the embeddings. With it a constant feature has
  /// correlation 0 instead of NaN.
  double variance_epsilon = 1e-5;

  /// Both paths give the same numbers up to rounding; see planner.h.
  LossPath path = LossPath::kAuto;

  /// What the factors of the large matrix products are rounded to: float32, or
  /// bfloat16 with sums in float32. bfloat16 is two to three times as fast
  /// where the device has arithmetic for it (AMX, AVX-512, tensor cores); it
  /// leaves a relative error of up to 2e-4 in `total` and 5e-3 in the gradient,
  /// about what bfloat16 embeddings have anyway. Statistics and the diagonal of
  /// C keep float64. Problems so small that they are computed in float64, and
  /// float64 embeddings, are not rounded.
  torch::ScalarType product_type = torch::kFloat32;

  /// Divides the gradient, not the value; >= 1. Code that all-reduces C outside
  /// autograd and then averages gradients over V devices obtains 1 / V of the
  /// true gradient; V here reproduces such a run (the authors': 16 or 32).
  std::int64_t emulate_world_size = 1;
};

/// The loss and its two terms: scalars (0-d), float32 (float64 for float64
/// inputs), on the inputs' device, equal on every rank. Only `total` carries a
/// gradient; the rest is detached and meant for logs.
struct BarlowTwinsLoss {
  torch::Tensor total;       ///< invariance + lambda * redundancy
  torch::Tensor invariance;  ///< sum_i (1 - C_ii)^2,     in [0, 4 D]
  torch::Tensor redundancy;  ///< sum_{i != j} C_ij^2,    in [0, D (D - 1)]

  /// How many of the 2 D (view, feature) columns have collapsed, int64: those
  /// whose variance over the batch is at most 1e-3 variance_epsilon, so that
  /// none of their correlations can exceed 0.032.
  torch::Tensor constant_features;

  LossPath path = LossPath::kAuto;  ///< the one taken, never kAuto
};

/// Returns the Barlow Twins loss of two batches of embeddings, taken over all
/// ranks of a process group.
///
///     L    = sum_i (1 - C_ii)^2 + lambda * sum_i sum_{j != i} C_ij^2   (eq. 1)
///     C_ij = (1 / N) * sum_b u_a[b, i] * u_b[b, j]                     (eq. 2)
///
/// where u is z with each feature shifted and scaled to mean 0 and variance 1
/// over the global batch: u = (z - mean) / sqrt(var + variance_epsilon), N is
/// the sum of n over the ranks, and var is the biased variance (divided by N).
///
/// Shapes. n is this rank's batch size, D the embedding size.
///
///     z_a, z_b   [n, D]  float64, float32, float16 or bfloat16, any strides,
///                        same dtype and device; row b of each is one image
///                        under two augmentations; D >= 1, n >= 0, N >= 2
///     returns    []      scalars, see `BarlowTwinsLoss`
///
/// Precision. Half-precision inputs are converted to float32. Statistics, the
/// diagonal of C and sums over features are float64 (feature space: but for the
/// squares of C within one block of rows), matrix products float32 without
/// TF32, also under autocast; small problems are computed in
/// float64 throughout (planner.h). The relative error of `total` and, in the
/// Euclidean norm, of its gradient against a float64 reference is below 1e-6
/// for D <= 8192 and N <= 4096: 2e-7 measured at that size, 4e-7 the largest
/// met; tests/loss/accuracy_test.cpp enforces 1e-6 at smaller N. Two cases are
/// harder. If all features correlate by rho, the gradient's error grows by
/// 1 / sqrt(1 - rho^2): the projection in the standardisation's derivative
/// leaves only that share. With the path forced to sample space and N > D,
/// `redundancy` has an absolute error of about 1e-7 sum_i C_ii^2.
///
/// Distribution. This is a collective call: each rank of `process_group` makes
/// it in the same order among its other collectives, with the same D, dtype,
/// device type, options, grad mode and requires_grad. n may differ between
/// ranks, also be 0. A default-constructed group is a single process and
/// communicates nothing. The last bits of the result depend on the backend's
/// order of summation.
///
/// Gradient. Hand-derived (docs/math.md), computed together with the value
/// where a gradient is required, so that the backward pass only scales it and
/// communicates nothing. On each rank it is W / emulate_world_size times the
/// derivative of the one global loss with respect to this rank's rows: once the
/// trainer has averaged parameter gradients over the ranks, they are those of
/// the single-process loss on the concatenated batch. Every rank must
/// backpropagate the same upstream gradient into `total`. The gradient has the
/// inputs' dtype. It cannot be differentiated again: c10::NotImplementedError.
///
/// Cost per rank. Feature space: 2 n D^2 FLOP for the value, 2 n D^2 more for
/// each view's gradient; D^2 numbers of memory; an all-reduce of D^2 numbers.
/// Sample space: 4 n N D (half of it if W = 1) and 2 n N D FLOP; 2 n N numbers
/// of memory, 2 N D + 2 n D more if W > 1; an all-gather of 2 N D numbers and
/// an all-reduce of 2 D + 1.
/// Both: three more all-reduces, of W, 2 D and 3 D numbers of 8 bytes, and
/// 2 n D numbers kept for the backward pass.
///
/// Errors. Throws c10::ValueError if an input is not [n, D], the two differ in
/// shape, dtype or device, an option is out of range, or N < 2. All but the
/// last are found before any communication, by the offending rank alone: its
/// peers then fail with the group's timeout. NaN and infinity are not searched
/// for; they propagate to the result.
///
/// Thread safety. Reentrant, as long as no two threads use one group at a time.
///
/// Example:
///
///     const BarlowTwinsLoss loss =
///         barlow_twins_loss(z_a, z_b, {.lambda = 0.0051}, group);
///     loss.total.backward();
[[nodiscard]] BarlowTwinsLoss barlow_twins_loss(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const BarlowTwinsLossOptions& options = {},
    const dist::ProcessGroup& process_group = {});

}  // namespace barlow
