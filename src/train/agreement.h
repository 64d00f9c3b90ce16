// SPDX-License-Identifier: MIT

#pragma once

#include <string>

#include "barlow/dist/process_group.h"
#include "barlow/train/recipe.h"

namespace barlow::train {

/// Fails on all ranks unless all run the same version of barlow, the same
/// recipe, but for what belongs to the machine, on the same data. Throws
/// UsageError that names the first rank to differ and in what. Collective.
void require_same_run(
    const Recipe& recipe,
    const std::string& dataset_fingerprint,
    const dist::ProcessGroup& group);

}  // namespace barlow::train
