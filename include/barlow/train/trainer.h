// SPDX-License-Identifier: MIT
//
// A training run in a folder: started, stopped, resumed.

#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "barlow/data/dataset.h"
#include "barlow/dist/process_group.h"
#include "barlow/train/memory_need.h"
#include "barlow/train/metrics.h"
#include "barlow/train/recipe.h"

namespace barlow::train {

/// What a run is about to do, told before its first step.
struct RunPlan {
  std::int64_t images = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;
  std::int64_t first_step = 0;  ///< steps already done, > 0 at a resume
  std::int64_t embedding_size = 0;
  std::int64_t parameters = 0;
  int ranks = 1;
  MemoryNeed memory;  ///< of this rank
  std::string device;
  std::string loss_path;
};

/// Called on the training thread of rank 0; each may be empty.
struct TrainerEvents {
  std::function<void(const RunPlan&)> on_start;
  std::function<void(const StepMetrics&)> on_step;
  std::function<void(const std::filesystem::path&)> on_checkpoint;
  std::function<void(const std::string&)> on_warning;
};

enum class TrainOutcome {
  kComplete,         ///< all steps done; backbone.safetensors written
  kAlreadyComplete,  ///< nothing was left to do
  kInterrupted,      ///< `stop` was set: saved, and can be resumed
};

/// Trains `recipe` on `dataset` in the folder `run`, resuming what is there.
///
/// A resumed run computes the same bits as one never stopped (same machine,
/// same number of threads). It is refused, with UsageError that names the keys,
/// if the recipe differs in what matters, and with Error if the data set does.
/// The training thread finishes its step, saves and returns once `stop` is set.
///
/// Checkpoints hold model, optimiser, step, recipe and the data set's
/// fingerprint; order and augmentation are functions of the step and need no
/// state. A kill at any moment loses at most the steps since the last one.
///
/// Distribution. Collective: each rank of `group` calls it with the same
/// recipe, but for what belongs to its machine, on the same data, which is
/// checked. Only rank 0 uses `run`; a checkpoint can be continued by any number
/// of ranks. Runs on any number of ranks compute the same steps up to rounding
/// in float32. `stop` on one rank stops all, after the same step.
///
/// Damage. A damaged checkpoint, log or recipe.toml is passed over, and
/// on_warning hears what was done instead. An image that cannot be loaded ends
/// the run with an Error, on all ranks, after the steps so far were saved; so
/// does a loss or gradient that is not finite, with what was saved before.
///
/// Throws Error and UsageError, having told the other ranks why; the folder
/// then holds what it held at the last checkpoint.
[[nodiscard]] TrainOutcome train(
    const data::Dataset& dataset,
    const Recipe& recipe,
    const std::filesystem::path& run,
    const TrainerEvents& events,
    const std::atomic<bool>& stop,
    const dist::ProcessGroup& group = {});

}  // namespace barlow::train
