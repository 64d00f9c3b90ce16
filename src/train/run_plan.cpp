// SPDX-License-Identifier: MIT

#include "train/run_plan.h"

#include "barlow/loss/planner.h"
#include "barlow/model/named_state.h"
#include "barlow/train/memory_need.h"

namespace barlow::train {
namespace {

std::string loss_path_name(
    const Recipe& recipe,
    std::int64_t features,
    std::int64_t ranks) {
  const bool global = recipe.correlation == Correlation::kGlobal;
  const std::int64_t rows = (recipe.batch_size + ranks - 1) / ranks;
  const LossShape shape{
      .samples = global ? recipe.batch_size : rows,
      .features = features,
      .ranks = global ? ranks : 1,
      .rows_per_rank = rows};
  return plan_loss_path(shape, recipe.loss.path).path == LossPath::kSampleSpace
             ? "sample space"
             : "feature space";
}

}  // namespace

RunPlan make_plan(
    const Recipe& recipe,
    const model::BarlowTwins& model,
    const dist::ProcessGroup& group) {
  RunPlan plan;
  plan.embedding_size = model->embedding_dim();
  plan.parameters = model::count_parameters(*model);
  plan.ranks = group.size();
  plan.memory = memory_need(recipe, group.size());
  plan.loss_path = loss_path_name(recipe, plan.embedding_size, group.size());
  return plan;
}

}  // namespace barlow::train
