// SPDX-License-Identifier: MIT
//
// An encoder to evaluate: from a run, a file of weights, or untrained.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "barlow/model/resnet.h"
#include "barlow/train/recipe.h"

namespace barlow::train {

/// An encoder on the CPU in evaluation mode, with the recipe that says how its
/// images are prepared.
struct TrainedEncoder {
  Recipe recipe;
  model::ResNet backbone{nullptr};
  std::string origin;  ///< "runs/a, step 1200", for messages
};

/// Loads what lies at `path`:
///
///     a run folder   backbone.safetensors, or while it trains the newest whole
///                    checkpoint
///     a file         safetensors, as a run writes it, or with a torchvision
///                    ResNet's names ("fc.*" is ignored)
///
/// `recipe` is needed for files that carry none (torchvision's) and must be
/// absent or agree on the model otherwise.
/// Throws UsageError and Error, naming the path, what was found and expected.
[[nodiscard]] TrainedEncoder load_encoder(
    const std::filesystem::path& path,
    const std::optional<Recipe>& recipe = std::nullopt);

/// The encoder that a run of `recipe` starts from: a baseline.
[[nodiscard]] TrainedEncoder untrained_encoder(const Recipe& recipe);

}  // namespace barlow::train
