// SPDX-License-Identifier: MIT

#include "barlow/recipe_flags.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "barlow/core/error.h"
#include "barlow/core/text.h"

namespace barlow::app {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recipe_folders() {
  return {BARLOW_SOURCE_RECIPES, BARLOW_INSTALLED_RECIPES};
}

std::vector<std::string> shipped_recipes() {
  std::vector<std::string> names;
  for (const fs::path& folder : recipe_folders()) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".toml") {
        names.push_back(entry.path().stem().string());
      }
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

fs::path find_recipe(const std::string& name) {
  if (fs::exists(name) && !fs::is_directory(name)) {
    return name;
  }
  for (const fs::path& folder : recipe_folders()) {
    const fs::path candidate = folder / (name + ".toml");
    if (fs::exists(candidate)) {
      return candidate;
    }
  }
  const std::string nearest = nearest_name(name, shipped_recipes());
  fail<UsageError>(
      "--recipe: found ",
      fs::is_directory(name) ? "the folder " : "",
      name,
      ", expected a file or one of ",
      join(shipped_recipes()),
      nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

}  // namespace

std::string flag_of_key(const std::string& key) {
  std::string flag = "--" + key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void RecipeFlags::add_to(CLI::App& command, KeyFlags key_flags) {
  command_ = &command;
  command
      .add_option(
          "--recipe",
          recipe_,
          "a recipe file, or one of: " + join(shipped_recipes()))
      ->type_name("NAME|FILE");
  command.add_option("--set", settings_, "set a recipe key, as in a file")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->expected(1);
  if (key_flags == KeyFlags::kNone) {
    return;
  }
  const train::Recipe defaults;
  for (const train::RecipeField& field : train::recipe_fields()) {
    command.add_option(flag_of_key(field.key), values_[field.key], field.help)
        ->type_name(
            "(" + field.expected + ") [" +
            train::recipe_value_text(field.get(defaults)) + "]")
        ->group("Recipe: " + field.group);
  }
}

train::Recipe RecipeFlags::resolve(train::Recipe base) const {
  if (has_recipe()) {
    train::read_recipe_file(base, find_recipe(recipe_));
  }
  for (const std::string& setting : settings_) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      fail<UsageError>("--set: found ", setting, ", expected KEY=VALUE");
    }
    train::set_recipe_key(
        base,
        setting.substr(0, equals),
        setting.substr(equals + 1));
  }
  for (const auto& [key, value] : values_) {
    if (command_->count(flag_of_key(key)) > 0) {
      train::set_recipe_key(base, key, value);
    }
  }
  train::check_recipe(base);
  return base;
}

}  // namespace barlow::app
