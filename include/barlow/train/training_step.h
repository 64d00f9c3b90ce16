// SPDX-License-Identifier: MIT
//
// One step of Barlow Twins training (paper, algorithm 1).

#pragma once

#include <cstdint>
#include <utility>

#include <torch/types.h>

#include "barlow/core/error.h"
#include "barlow/dist/gradient_averager.h"
#include "barlow/dist/process_group.h"
#include "barlow/loss/barlow_twins_loss.h"
#include "barlow/model/twins.h"
#include "barlow/optim/optimizer.h"
#include "barlow/train/recipe.h"

namespace barlow::train {

struct TrainingStepOptions {
  BarlowTwinsLossOptions loss;
  Correlation correlation = Correlation::kGlobal;
  double loss_scale = 1.0;  ///< multiplies the gradient, > 0
  Precision precision = Precision::kFloat32;

  /// At most this many rows of a view pass through the network at a time; 0:
  /// all at once. See `TrainingStep`.
  std::int64_t micro_batch = 0;

  dist::GradientAveragerOptions exchange{};
};

/// A loss or gradient of infinity or NaN. The text names it and its terms.
class DivergedError : public Error {
 public:
  using Error::Error;
};

/// What a step computed, on the host, equal on all ranks. `loss` is not scaled
/// by loss_scale.
struct TrainingStepResult {
  double loss = 0;
  double invariance = 0;
  double redundancy = 0;
  double gradient_norm = 0;  ///< Euclidean, over all parameters, scaled
  std::int64_t constant_features = 0;
};

/// Forward both views, loss, backward, update.
///
/// The same step for any number of ranks: batch norm is synchronised, the loss
/// is that of the global batch, gradients are averaged over the ranks, so that
/// parameters that were equal stay equal. bfloat16: the encoder and projector
/// run under autocast; the embeddings are converted to float32 before the loss;
/// gradients, parameters and optimiser stay float32.
///
/// Replay (micro_batch > 0). The exact large batch on a small device: all
/// pieces forward without a graph, keeping their embeddings; the loss of the
/// whole batch and its gradient by the embeddings; each piece forward once
/// more, with a graph, and backward from its rows of that gradient. The memory
/// of activations is that of one piece of one view, for one forward pass more.
/// Loss and gradient are those of the large batch, but that batch norm in the
/// network uses the pieces' statistics (over all ranks); running statistics
/// move once a view, by the pieces' mean. Thread-compatible.
class TrainingStep {
 public:
  /// `optimizer` must outlive this. Tells the model's batch norms of `group`.
  TrainingStep(
      model::BarlowTwins model,
      optim::Optimizer& optimizer,
      const TrainingStepOptions& options,
      const dist::ProcessGroup& group = {});

  /// Collective: every rank makes the call for the same global batch.
  ///
  ///     view_a, view_b   [n, C, S, S]   float32, on any device; this rank's
  ///                                     rows, n >= 0
  ///
  /// Throws DivergedError if the loss or the gradient's norm is not finite,
  /// before any parameter is updated.
  [[nodiscard]] TrainingStepResult run(
      const torch::Tensor& view_a,
      const torch::Tensor& view_b,
      const optim::LearningRates& rates);

 private:
  [[nodiscard]] TrainingStepResult differentiate(
      const torch::Tensor& view_a,
      const torch::Tensor& view_b);
  [[nodiscard]] TrainingStepResult replay(
      const torch::Tensor& view_a,
      const torch::Tensor& view_b,
      std::int64_t pieces);
  [[nodiscard]] std::int64_t count_pieces(std::int64_t rows) const;
  [[nodiscard]] torch::Tensor embed_without_graph(
      const torch::Tensor& view,
      std::int64_t pieces);
  [[nodiscard]] torch::Tensor embed_piece(
      const torch::Tensor& view,
      std::int64_t piece,
      std::int64_t pieces);
  [[nodiscard]] TrainingStepResult read(const BarlowTwinsLoss& loss) const;
  [[nodiscard]] double gradient_norm() const;

  model::BarlowTwins model_;
  optim::Optimizer& optimizer_;
  TrainingStepOptions options_;
  dist::ProcessGroup group_;
  dist::ProcessGroup loss_group_;
  torch::Device device_;
  dist::GradientAverager averager_;
};

}  // namespace barlow::train
