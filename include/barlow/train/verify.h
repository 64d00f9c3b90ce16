// SPDX-License-Identifier: MIT
//
// Proof, on the machine at hand, that the number of ranks changes nothing, and
// how far off the usual mistakes are.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

#include "barlow/dist/process_group.h"
#include "barlow/loss/planner.h"

namespace barlow::train {

/// A global batch cut into the ranks' rows.
struct BatchSplit {
  std::string name;                ///< "equal", "unequal", "one empty"
  std::vector<std::int64_t> rows;  ///< of each rank, in order
};

/// What `verify` tries with so many ranks: only "equal" with one.
[[nodiscard]] std::vector<BatchSplit> batch_splits(
    std::int64_t samples,
    int ranks);

/// Errors are relative, gradients' in the Euclidean norm over all rows.
struct LossCheck {
  std::int64_t samples = 0;   ///< N
  std::int64_t features = 0;  ///< D
  BatchSplit split;
  LossPath path = LossPath::kAuto;
  double loss_error = 0;
  double gradient_error = 0;
};

/// Bound of both errors of a LossCheck: what barlow_twins_loss promises for
/// float32.
inline constexpr double kLossBound = 1e-6;

/// The float32 loss of `group`'s ranks, for several sizes, splits and both
/// paths, against the paper's formula written out in float64 on one device and
/// differentiated by autograd. Collective; the result is the same on all ranks.
[[nodiscard]] std::vector<LossCheck> verify_loss(
    const dist::ProcessGroup& group,
    torch::Device device);

/// The same errors for what is often done instead. Undefined entries are NaN.
struct MistakeCheck {
  BatchSplit split;

  /// Each rank standardises its rows by its own statistics; C is summed.
  double local_statistics_loss = 0;
  double local_statistics_gradient = 0;

  /// C is summed outside of autograd, then parameter gradients are averaged.
  double raw_all_reduce_gradient = 0;

  /// Each rank computes a loss of its own; they are averaged.
  double averaged_losses_loss = 0;
  double averaged_losses_gradient = 0;
};

/// N = 64, D = 128, float64, the rows as for `verify_loss`; no communication.
[[nodiscard]] std::vector<MistakeCheck> common_mistakes(int ranks);

/// Twenty training steps of a small ResNet with batch norm on the ranks of a
/// group, against the same steps in one process. The batch, 47 images, divides
/// by no number of ranks above 1.
struct TrainingCheck {
  int ranks = 1;
  torch::ScalarType type = torch::kFloat32;
  double loss_error = 0;     ///< the worst of the steps, relative
  double weights_error = 0;  ///< of the encoder's after the steps, relative
};

/// Bounds of a TrainingCheck's two errors.
struct TrainingBounds {
  double loss = 0;
  double weights = 0;
};

/// float32: 1e-5 and 1e-4, with learning rates that rise as in a warm-up. At
/// full rates an untrained network's loss is so sharp that rounding grows
/// tenfold a step, on one rank as on many. float64: 1e-9 at full rates, which
/// no error of the method could pass.
[[nodiscard]] TrainingBounds training_bounds(torch::ScalarType type);

/// Collective; the result is the same on all ranks.
[[nodiscard]] TrainingCheck verify_training(
    const dist::ProcessGroup& group,
    torch::Device device,
    torch::ScalarType type);

}  // namespace barlow::train
