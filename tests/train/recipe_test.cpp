// SPDX-License-Identifier: MIT

#include "barlow/train/recipe.h"

#include <fstream>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "support/tensors.h"

namespace barlow::train {
namespace {

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "not refused";
}

std::string refusal_of_text(const std::string& text) {
  return refusal([&] {
    Recipe recipe;
    read_recipe_text(recipe, text, "my.toml");
  });
}

TEST(Recipe, DefaultsAreTheAuthorsRecipe) {
  const Recipe recipe;
  EXPECT_EQ(recipe.batch_size, 2048);
  EXPECT_EQ(recipe.projector, "8192-8192-8192");
  EXPECT_DOUBLE_EQ(recipe.loss.lambda, 0.0051);
  EXPECT_DOUBLE_EQ(recipe.view_a.blur_probability, 1.0);
  EXPECT_DOUBLE_EQ(recipe.view_b.blur_probability, 0.1);
  EXPECT_DOUBLE_EQ(recipe.view_a.solarize_probability, 0.0);
  EXPECT_DOUBLE_EQ(recipe.view_b.solarize_probability, 0.2);
}

TEST(Recipe, TomlReadsBackToTheSameRecipe) {
  Recipe recipe;
  set_recipe_key(recipe, "learning_rate_weights", "0.1");
  set_recipe_key(recipe, "view_b.blur_max_sigma", "1.7");
  set_recipe_key(recipe, "architecture", "resnet18");
  set_recipe_key(recipe, "mean", "0.2860,0.2860,0.2860");
  Recipe copy;
  read_recipe_text(copy, recipe_to_toml(recipe), "copy");
  EXPECT_EQ(recipe_to_toml(copy), recipe_to_toml(recipe));
  EXPECT_TRUE(resume_differences(recipe, copy).empty());
  EXPECT_FLOAT_EQ(copy.normalization.mean[2], 0.286F);
}

// Each key must change what it names, and only that: a key that is parsed and
// ignored would print its old value.
TEST(Recipe, EveryKeyIsReadBackAfterBeingSet) {
  const Recipe defaults;
  const auto other_value = [&](const RecipeField& field) -> std::string {
    const RecipeValue value = field.get(defaults);
    if (field.key == "projector" || field.key == "blocks") {
      return "2-1";
    }
    if (const auto* truth = std::get_if<bool>(&value)) {
      return *truth ? "false" : "true";
    }
    if (std::holds_alternative<std::string>(value)) {
      const std::size_t last = field.expected.rfind(' ');
      return field.expected.substr(last + 1);
    }
    if (std::holds_alternative<std::vector<double>>(value)) {
      return "0.125,0.25,0.5";
    }
    if (field.key == "channels" || field.key == "emulate_world_size" ||
        field.key == "log_every_steps") {
      return "2";
    }
    return field.expected.find("number") != std::string::npos ? "0.25" : "7";
  };
  for (const RecipeField& field : recipe_fields()) {
    Recipe recipe;
    const std::string text = other_value(field);
    set_recipe_key(recipe, field.key, text);
    EXPECT_NE(
        recipe_value_text(field.get(recipe)),
        recipe_value_text(field.get(defaults)))
        << field.key << " = " << text;
    int changed = 0;
    for (const RecipeField& each : recipe_fields()) {
      changed += each.get(recipe) != each.get(defaults) ? 1 : 0;
    }
    EXPECT_EQ(changed, 1) << field.key;
  }
}

TEST(Recipe, RefusesAnUnknownKeyAndNamesTheNearest) {
  EXPECT_EQ(
      refusal_of_text("batchsize = 8"),
      "my.toml: unknown recipe key batchsize, did you mean batch_size?");
  EXPECT_EQ(
      refusal_of_text("[view_a]\nmin_aera = 0.1"),
      "my.toml: unknown recipe key view_a.min_aera, did you mean "
      "view_a.min_area?");
}

TEST(Recipe, RefusesWrongTypesAndRanges) {
  EXPECT_EQ(
      refusal_of_text("epochs = \"ten\""),
      "my.toml: epochs: found \"ten\", expected an integer in [1, 1e+15]");
  EXPECT_EQ(
      refusal_of_text("epochs = 1.5"),
      "my.toml: epochs: found 1.5, expected an integer in [1, 1e+15]");
  EXPECT_EQ(
      refusal_of_text("[view_b]\nflip_probability = 2"),
      "my.toml: view_b.flip_probability: found 2, expected a number in [0, 1]");
  EXPECT_EQ(
      refusal_of_text("optimizer = \"adam\""),
      "my.toml: optimizer: found \"adam\", expected one of lars, "
      "lars-clipped, sgd, adamw");
  EXPECT_EQ(
      refusal_of_text("mean = [0.5]"),
      "my.toml: mean: found [0.5], expected three numbers, each in [-10, 10]");
}

TEST(Recipe, NamesTheLineOfASyntaxError) {
  EXPECT_NE(
      refusal_of_text("epochs = 3\nseed = = 1").find("my.toml, line 2"),
      std::string::npos);
}

TEST(Recipe, AWordThatLooksLikeANumberStaysAWord) {
  Recipe recipe;
  set_recipe_key(recipe, "projector", "128");
  EXPECT_EQ(recipe.projector, "128");
}

TEST(Recipe, RefusesCombinationsThatCannotWork) {
  const auto refusal_of = [](const std::string& key, const std::string& value) {
    return refusal([&] {
      Recipe recipe;
      set_recipe_key(recipe, key, value);
      check_recipe(recipe);
    });
  };
  EXPECT_NE(refusal_of("channels", "2").find("channels"), std::string::npos);
  EXPECT_NE(
      refusal_of("eval_crop", "512").find("eval_crop"),
      std::string::npos);
  EXPECT_NE(
      refusal_of("warmup_epochs", "5000").find("warmup_epochs"),
      std::string::npos);
  EXPECT_NE(
      refusal_of("projector", "12-x").find("projector"),
      std::string::npos);
  EXPECT_NE(
      refusal_of("architecture", "resnet9").find("resnet9"),
      std::string::npos);
  EXPECT_NE(
      refusal_of("view_a.min_area", "1").find("not refused"),
      std::string::npos);  // 1 to 1: the whole image, always
}

TEST(Recipe, ResumeComparesOnlyWhatChangesTheResult) {
  const Recipe run;
  Recipe now = run;
  set_recipe_key(now, "workers", "7");
  set_recipe_key(now, "keep_checkpoints", "9");
  EXPECT_TRUE(resume_differences(run, now).empty());
  set_recipe_key(now, "lambda", "0.5");
  EXPECT_EQ(
      resume_differences(run, now),
      std::vector<std::string>{"lambda: 0.0051 in the run, 0.5 now"});
}

TEST(Recipe, EveryShippedRecipeIsReadAndPossible) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(BARLOW_SOURCE_DIR) + "/recipes")) {
    Recipe recipe;
    read_recipe_file(recipe, entry.path());
    check_recipe(recipe);
    ++read;
  }
  EXPECT_GE(read, 3);
}

}  // namespace
}  // namespace barlow::train
