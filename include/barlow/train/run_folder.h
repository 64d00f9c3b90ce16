// SPDX-License-Identifier: MIT
//
// The folder of one training run.
//
//     recipe.toml            the effective recipe
//     metrics.jsonl          one line a step
//     checkpoints/           the newest few, step-*.safetensors
//     backbone.safetensors   the trained encoder, once the run is complete

#pragma once

#include <filesystem>
#include <optional>

#include "barlow/train/recipe.h"

namespace barlow::train {

/// Names of the files in a run folder.
struct RunPaths {
  explicit RunPaths(const std::filesystem::path& run)
      : folder(run),
        recipe(run / "recipe.toml"),
        metrics(run / "metrics.jsonl"),
        checkpoints(run / "checkpoints"),
        backbone(run / "backbone.safetensors"),
        lock(run / ".lock") {}

  std::filesystem::path folder;
  std::filesystem::path recipe;
  std::filesystem::path metrics;
  std::filesystem::path checkpoints;
  std::filesystem::path backbone;
  std::filesystem::path lock;
};

/// Holds a run folder for one process, as long as it lives; also released by
/// the system when the process is killed.
class RunLock {
 public:
  /// Creates the folder where it is missing. Throws UsageError, naming a file,
  /// if it is there but not a run's: only logs (*.log) and hidden files may be
  /// in it then, beside files with a run's names. Throws Error if another
  /// process holds it, or it cannot be written.
  explicit RunLock(const RunPaths& paths);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  RunLock(RunLock&&) = delete;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

 private:
  int descriptor_ = -1;
};

/// The recipe to go on with in the folder `run` where none is given: that of
/// the newest checkpoint, but what belongs to the machine as recipe.toml has it
/// now; without checkpoints recipe.toml alone. Nothing if there is neither.
/// An edited or broken recipe.toml changes nothing else: `train` tells of it.
/// Throws UsageError as read_recipe_file, where there are no checkpoints.
[[nodiscard]] std::optional<Recipe> recipe_of_run(
    const std::filesystem::path& run);

}  // namespace barlow::train
