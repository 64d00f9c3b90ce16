// SPDX-License-Identifier: MIT
//
// From a recipe to the parts that train.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <torch/types.h>

#include "barlow/data/loader.h"
#include "barlow/dist/process_group.h"
#include "barlow/model/twins.h"
#include "barlow/optim/optimizer.h"
#include "barlow/train/recipe.h"
#include "barlow/train/training_step.h"

namespace barlow::train {

/// The device that `name` ("auto", "cpu", "cuda", "cuda:1") stands for; where
/// it names no number, the ranks of a machine take one device each, in turn.
/// Throws UsageError if it is unknown or not there.
[[nodiscard]] torch::Device select_device(
    const std::string& name,
    int local_rank = 0);

/// The encoder that the recipe asks for. Throws UsageError.
[[nodiscard]] model::ResNetOptions backbone_options(const Recipe& recipe);

/// A model with initial weights drawn from the recipe's seed, on `device`, in
/// train mode and channels-last.
[[nodiscard]] model::BarlowTwins make_model(
    const Recipe& recipe,
    torch::Device device);

[[nodiscard]] std::unique_ptr<optim::Optimizer> make_optimizer(
    const Recipe& recipe,
    const model::BarlowTwins& model);

[[nodiscard]] TrainingStepOptions training_step_options(const Recipe& recipe);

/// For this rank's part of each global batch.
[[nodiscard]] data::TwoViewLoaderOptions loader_options(
    const Recipe& recipe,
    const dist::ProcessGroup& group = {});

/// Learning rates of `step`, counted from 0, of `steps_per_epoch * epochs`: a
/// pure function. Linear warm-up, then a cosine to a thousandth.
[[nodiscard]] optim::LearningRates learning_rates(
    const Recipe& recipe,
    std::int64_t step,
    std::int64_t steps_per_epoch);

}  // namespace barlow::train
