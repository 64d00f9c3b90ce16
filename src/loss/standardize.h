// SPDX-License-Identifier: MIT
//
// Both views standardised over the global batch.

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "barlow/dist/process_group.h"

namespace barlow::detail {

struct StandardizeOptions {
  torch::ScalarType compute_type = torch::kFloat32;  ///< of the views' matrices
  std::int64_t samples = 0;                          ///< N
  double variance_epsilon = 0;
};

/// n: this rank's rows, D: features. Statistics are over all N rows, float64.
struct StandardizedViews {
  torch::Tensor a;                  ///< [n, D]  A, compute_type, contiguous
  torch::Tensor b;                  ///< [n, D]  B
  torch::Tensor a_scale;            ///< [D]     (var_a + eps)^(-1/2)
  torch::Tensor b_scale;            ///< [D]
  torch::Tensor correlation;        ///< [D]     C_ii, not through A and B
  torch::Tensor constant_features;  ///< []      int64, see BarlowTwinsLoss
};

/// Two all-reduces, of 2 D and of 3 D float64 numbers. For float32 on a CPU
/// both views are read once for all sums and once more to be standardised, and
/// no other copy of them is made; elsewhere it takes several passes.
StandardizedViews standardize(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const StandardizeOptions& options,
    const dist::ProcessGroup& group);

}  // namespace barlow::detail
