// SPDX-License-Identifier: MIT

#pragma once

#include "barlow/dist/process_group.h"
#include "barlow/model/twins.h"
#include "barlow/train/recipe.h"
#include "barlow/train/trainer.h"

namespace barlow::train {

/// What follows from the recipe, its model and the number of ranks; data, steps
/// and device are left to be filled in. Cost: that of memory_need.
[[nodiscard]] RunPlan make_plan(
    const Recipe& recipe,
    const model::BarlowTwins& model,
    const dist::ProcessGroup& group);

}  // namespace barlow::train
