// SPDX-License-Identifier: MIT
//
// One step of Barlow Twins training (paper, algorithm 1).

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "barlow/dist/process_group.h"
#include "barlow/loss/barlow_twins_loss.h"
#include "barlow/model/twins.h"
#include "barlow/optim/optimizer.h"
#include "barlow/train/recipe.h"

namespace barlow::train {

struct TrainingStepOptions {
  BarlowTwinsLossOptions loss;
  double loss_scale = 1.0;  ///< multiplies the gradient, > 0
  Precision precision = Precision::kFloat32;
};

/// What a step computed, on the host. `loss` is not scaled by loss_scale.
struct TrainingStepResult {
  double loss = 0;
  double invariance = 0;
  double redundancy = 0;
  double gradient_norm = 0;  ///< Euclidean, over all parameters, scaled
  std::int64_t constant_features = 0;
};

/// Forward both views, loss, backward, update.
///
///     view_a, view_b   [n, C, S, S]   float32, on the model's device; this
///                                     rank's rows of the global batch
///
/// bfloat16: the encoder and projector run under autocast; the embeddings are
/// converted to float32 before the loss; gradients, parameters and optimiser
/// stay float32.
/// Collective: every rank of `group` makes the call for the same batch.
/// Throws Error if the loss is not finite, before anything is updated.
[[nodiscard]] TrainingStepResult training_step(
    model::BarlowTwins& model,
    optim::Optimizer& optimizer,
    const torch::Tensor& view_a,
    const torch::Tensor& view_b,
    const optim::LearningRates& rates,
    const TrainingStepOptions& options,
    const dist::ProcessGroup& group = {});

}  // namespace barlow::train
