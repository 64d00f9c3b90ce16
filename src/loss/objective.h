// SPDX-License-Identifier: MIT
//
// The loss's value and gradient, without autograd.

#pragma once

#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "barlow/loss/barlow_twins_loss.h"
#include "loss/cross_terms.h"

namespace barlow::detail {

/// Everything that the ranks have agreed on before the first large message.
struct ObjectiveRequest {
  BarlowTwinsLossOptions options;
  LossPlan plan;
  std::vector<std::int64_t> row_counts;  ///< n of every rank
  NeedsGradient needs_gradient{};
  dist::ProcessGroup group;
};

struct Objective {
  torch::Tensor total;              ///< [] float64, as are the next two
  torch::Tensor invariance;         ///< []
  torch::Tensor redundancy;         ///< []
  torch::Tensor constant_features;  ///< [] int64
  torch::Tensor a_gradient;  ///< [n, D] the plan's compute_type, or undefined
  torch::Tensor b_gradient;
};

/// z_a, z_b: [n, D], checked, detached and contiguous. Collective.
Objective evaluate_objective(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const ObjectiveRequest& request);

}  // namespace barlow::detail
