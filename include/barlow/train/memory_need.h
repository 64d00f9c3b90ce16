// SPDX-License-Identifier: MIT
//
// What a recipe will need, told before it starts.

#pragma once

#include <cstdint>

#include "barlow/train/recipe.h"

namespace barlow::train {

/// Of one rank, in bytes of tensors; allocators and libraries take some more.
struct MemoryNeed {
  std::int64_t weights = 0;      ///< parameters, gradients, optimiser; with
                                 ///< several ranks the messages of gradients
  std::int64_t activations = 0;  ///< kept for the backward pass
  std::int64_t loss = 0;         ///< the loss's own temporaries
  std::int64_t batches = 0;      ///< images, prepared and in use; on the host

  [[nodiscard]] std::int64_t total() const {
    return weights + activations + loss + batches;
  }
};

/// Activations are measured: two images pass through the network once, on the
/// CPU, in the recipe's precision, and what they leave behind is counted for as
/// many as pass at a time (both views of the rank's rows, or a micro-batch of
/// one). Within 20 % of what a step is measured to need (tests/train).
/// Cost: weights of the network a second time, and that pass.
/// Throws UsageError as make_model.
[[nodiscard]] MemoryNeed memory_need(const Recipe& recipe, int ranks = 1);

}  // namespace barlow::train
