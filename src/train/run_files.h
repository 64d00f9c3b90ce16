// SPDX-License-Identifier: MIT
//
// A run's folder, in the hands of the one process that writes to it.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "barlow/core/named_tensors.h"
#include "barlow/state/checkpoint_store.h"
#include "barlow/train/recipe.h"
#include "barlow/train/run_folder.h"

namespace barlow::train {

/// What must stay the same while a run is continued.
struct RunIdentity {
  Recipe recipe;
  std::string dataset_fingerprint;
  int world_size = 1;  ///< matters with Correlation::kPerRank only
};

/// How far a run has come.
struct RunProgress {
  std::int64_t step = 0;  ///< steps done
  double time_s = 0;      ///< training time so far
  bool complete = false;  ///< is there a backbone.safetensors?
};

/// A checkpoint's content: model and optimiser by name.
struct RunState {
  NamedTensors tensors;
  RunProgress progress;
};

using OnWarning = std::function<void(const std::string&)>;

/// Holds the folder's lock as long as it lives. Thread-compatible.
class RunFiles {
 public:
  /// Creates the folder. Throws as RunLock.
  RunFiles(const std::filesystem::path& folder, RunIdentity identity);

  /// The newest whole checkpoint, nothing if there is none: what stopped before
  /// its first one has computed nothing, and may be started anew with another
  /// recipe. `on_warning` hears of newer ones that are damaged.
  ///
  /// Throws UsageError, naming the keys, if the run is of another recipe, or if
  /// there is a trained encoder but no checkpoint, and Error if it is of other
  /// data or no checkpoint can be used.
  [[nodiscard]] std::optional<RunState> load(const OnWarning& on_warning) const;

  /// Writes recipe.toml, once nothing can refuse the run any more. One that was
  /// edited, is broken or of another recipe is kept under another name, and
  /// `on_warning` hears of it.
  void write_recipe(const OnWarning& on_warning) const;

  /// Returns the new checkpoint's path.
  std::filesystem::path save(const RunState& state) const;

  /// `backbone`: the encoder's tensors.
  void save_backbone(const NamedTensors& backbone, std::int64_t step) const;

  [[nodiscard]] const RunPaths& paths() const { return paths_; }

 private:
  void refuse_another_recipe(const Recipe& recipe) const;
  void refuse_another_run(const state::TensorFile& checkpoint) const;

  RunPaths paths_;
  RunIdentity identity_;
  RunLock lock_;
  state::CheckpointStore checkpoints_;
};

}  // namespace barlow::train
