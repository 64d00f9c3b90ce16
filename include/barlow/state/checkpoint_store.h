// SPDX-License-Identifier: MIT
//
// The checkpoints of a run: a folder that keeps the newest few.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "barlow/state/safetensors.h"

namespace barlow::state {

/// The checkpoints in `folder`, oldest first: files step-N.safetensors, sorted
/// by N. Reads names only; none if the folder does not exist.
[[nodiscard]] std::vector<std::filesystem::path> list_checkpoints(
    const std::filesystem::path& folder);

struct LoadedCheckpoint {
  std::int64_t step = 0;
  TensorFile file;
  std::vector<std::string> warnings;  ///< one line a newer, damaged checkpoint
};

/// Saves to and loads from one folder. One process at a time.
///
/// Metadata gets "format" = "barlow-checkpoint", "format_version" = "1" and
/// "step". A version that adds meaning raises the number; older numbers stay
/// readable.
/// Thread-compatible.
class CheckpointStore {
 public:
  /// Creates the folder where it is missing, and removes the temporary files of
  /// checkpoints that a killed process left. keep_last >= 1, else
  /// c10::ValueError. Throws Error if the folder cannot be created.
  CheckpointStore(std::filesystem::path folder, std::int64_t keep_last);

  /// Writes step-000000123.safetensors, whole or not at all, then removes the
  /// older ones except keep_last - 1. Returns its path.
  ///
  /// Checkpoints of later steps are left alone and not counted: a run that
  /// continues from the newest whole one can only have damaged ones beyond it.
  /// step >= 0, else c10::ValueError. Throws Error as write_safetensors; then
  /// nothing was removed.
  std::filesystem::path save(std::int64_t step, const TensorFile& file) const;

  /// The newest checkpoint that is whole and has the step that its name says;
  /// nothing if there is none at all. Throws Error, naming them, if there are
  /// checkpoints and none is, or if the newest whole one was written by a newer
  /// version.
  [[nodiscard]] std::optional<LoadedCheckpoint> load_latest() const;

 private:
  void remove_older(std::int64_t step) const;

  std::filesystem::path folder_;
  std::int64_t keep_last_;
};

}  // namespace barlow::state
