// SPDX-License-Identifier: MIT
//
// The part of the loss that pairs features, computed in either space.
//
// A and B are the standardised views, [n, D] on this rank, C = A^T B / N over
// all N rows of all ranks, and M is C (sample space) or C with a diagonal of 0
// (feature space).

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "barlow/dist/process_group.h"
#include "loss/standardize.h"

namespace barlow::detail {

struct CrossTerms {
  bool includes_diagonal = false;  ///< whether M is C
  torch::Tensor square_sum;        ///< []      sum_ij M_ij^2, float64

  // Of a view that needs a gradient; undefined otherwise.
  torch::Tensor a_product;  ///< [n, D]  N B M^T, the views' dtype
  torch::Tensor b_product;  ///< [n, D]  N A M
  torch::Tensor a_squares;  ///< [D]     sum_j M_ij^2, float64
  torch::Tensor b_squares;  ///< [D]     sum_i M_ij^2, float64
};

/// Which views' gradients are wanted: {a, b}.
using NeedsGradient = std::array<bool, 2>;

/// Forms C, its one D x D temporary. One all-reduce of D^2 numbers.
CrossTerms feature_space_terms(
    const StandardizedViews& views,
    std::int64_t samples,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group);

/// Never forms C: with the Gram matrices K_a = A A^T and K_b = B B^T (N x N),
///
///     sum_ij C_ij^2 = <K_a, K_b> / N^2,  N B C^T = K_b A,  N A C = K_a B,
///
/// of which each rank computes its n rows. An all-gather of 2 N D numbers, and
/// one all-reduce of D float64 numbers per gradient and of 1 for the value.
CrossTerms sample_space_terms(
    const StandardizedViews& views,
    const std::vector<std::int64_t>& row_counts,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group);

}  // namespace barlow::detail
