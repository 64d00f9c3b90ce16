// SPDX-License-Identifier: MIT

#include "barlow/core/error.h"
#include "barlow/model/projector.h"
#include "barlow/train/recipe.h"
#include "barlow/train/setup.h"

namespace barlow::train {

void check_recipe(const Recipe& recipe) {
  Recipe copy = recipe;
  for (const RecipeField& field : recipe_fields()) {
    field.set(copy, field.get(recipe));
  }
  data::validate(recipe.view_a, "view_a");
  data::validate(recipe.view_b, "view_b");
  if (recipe.channels == 2) {
    fail<UsageError>("channels: found 2, expected 1 (grey) or 3 (colour)");
  }
  model::validate(backbone_options(recipe));
  static_cast<void>(model::parse_projector(recipe.projector));
  if (recipe.eval_crop > recipe.eval_resize) {
    fail<UsageError>(
        "eval_crop: found ",
        recipe.eval_crop,
        ", expected at most eval_resize = ",
        recipe.eval_resize);
  }
  if (recipe.warmup_epochs >= static_cast<double>(recipe.epochs)) {
    fail<UsageError>(
        "warmup_epochs: found ",
        recipe.warmup_epochs,
        ", expected less than epochs = ",
        recipe.epochs);
  }
}

std::vector<std::string> resume_differences(
    const Recipe& run,
    const Recipe& now) {
  std::vector<std::string> differences;
  for (const RecipeField& field : recipe_fields()) {
    const RecipeValue before = field.get(run);
    const RecipeValue after = field.get(now);
    if (field.on_resume == OnResume::kMustMatch && before != after) {
      differences.push_back(
          field.key + ": " + recipe_value_text(before) + " in the run, " +
          recipe_value_text(after) + " now");
    }
  }
  return differences;
}

}  // namespace barlow::train
