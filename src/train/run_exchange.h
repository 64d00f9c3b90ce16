// SPDX-License-Identifier: MIT
//
// What the ranks of a run tell each other beside the training itself.

#pragma once

#include <string>

#include "barlow/dist/process_group.h"
#include "train/run_files.h"

namespace barlow::train {

/// Rank 0's, which alone reads the folder. Collective.
[[nodiscard]] RunProgress share_progress(
    const RunProgress& progress,
    const dist::ProcessGroup& group);

/// What a rank knows before a step.
struct StepSignals {
  bool stop = false;    ///< it was asked to leave
  std::string failure;  ///< why it has no batch; empty if it has one
};

/// The same on all ranks, which must leave at one step though signals and
/// failures come to each alone: `stop` if any has it, and the failure of the
/// first rank that has one. Collective; one small message where nothing failed.
[[nodiscard]] StepSignals share_signals(
    const StepSignals& own,
    const dist::ProcessGroup& group);

}  // namespace barlow::train
