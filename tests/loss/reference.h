// SPDX-License-Identifier: MIT
//
// The loss as the paper writes it, through LibTorch's autograd in float64.

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "barlow/loss/barlow_twins_loss.h"

namespace barlow::test {

struct Views {
  torch::Tensor a;
  torch::Tensor b;
};

/// Two views of `samples` images: a shared part, noise of half its size and
/// features with deviations from 0.3 to 3 around means from -2 to 2. The
/// views correlate by 0.8, as early in training; float64.
Views correlated_views(
    std::int64_t samples,
    std::int64_t features,
    std::uint64_t seed);

struct LossAndGradients {
  torch::Tensor total;  ///< [] float64
  torch::Tensor invariance;
  torch::Tensor redundancy;
  Views gradients;  ///< [n, D] float64
};

/// Of float64 copies of `views`.
LossAndGradients reference_loss(
    const Views& views,
    const BarlowTwinsLossOptions& options = {});

/// The same of barlow_twins_loss, in the dtype of `views`.
LossAndGradients barlow_loss(
    const Views& views,
    const BarlowTwinsLossOptions& options = {},
    const dist::ProcessGroup& group = {});

/// Euclidean relative error of both views' gradients together.
double gradient_error(const Views& actual, const Views& expected);

}  // namespace barlow::test
