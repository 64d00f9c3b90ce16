// SPDX-License-Identifier: MIT
//
// Batch normalisation with the statistics of all ranks' rows.

#pragma once

#include <torch/types.h>

#include "barlow/dist/process_group.h"

namespace barlow::model::detail {

/// A batch norm's parameters and buffers, all [C]; the buffers are updated
/// where they are defined.
struct BatchNormTensors {
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor running_mean;
  torch::Tensor running_var;
  double momentum = 0.1;
  double epsilon = 1e-5;
};

/// Training mode of BatchNorm over the rows of all ranks, of which this rank
/// has n, also 0.
///
/// Sums are exchanged in float64: one all-reduce of 2 C + 1 numbers here, and
/// one of 2 C in the backward pass, which is hand-derived and cannot be
/// differentiated again. Gradients of weight and bias are this rank's part.
/// Throws c10::ValueError, on all ranks, if there is only one value a channel.
torch::Tensor synchronized_batch_norm(
    const torch::Tensor& x,
    const BatchNormTensors& tensors,
    const dist::ProcessGroup& group);

}  // namespace barlow::model::detail
