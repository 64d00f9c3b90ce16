// SPDX-License-Identifier: MIT

#include "barlow/train/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "barlow/core/error.h"
#include "barlow/state/checkpoint_store.h"
#include "barlow/state/safetensors.h"

namespace barlow::train {
namespace {

namespace fs = std::filesystem;

// Sorted; none if there is no such folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// With their temporary files and what was set aside.
bool belongs_to_a_run(const std::string& name) {
  return name.starts_with('.') || name.ends_with(".log") ||
         name.starts_with("recipe.toml") || name.starts_with("metrics.jsonl") ||
         name.starts_with("backbone.safetensors") || name == "checkpoints";
}

// A folder in which barlow has trained before is a run whatever else a user has
// put there since.
void refuse_foreign_folder(const RunPaths& paths) {
  std::error_code error;
  if (fs::exists(paths.lock, error) ||
      !state::list_checkpoints(paths.checkpoints).empty()) {
    return;
  }
  const auto refuse = [&](const fs::path& name) {
    fail<UsageError>(
        paths.folder.string(),
        ": found ",
        name.string(),
        " in it, which is no part of a run, expected a run's folder, an empty "
        "or a new one");
  };
  for (const std::string& name : names_in(paths.folder)) {
    if (!belongs_to_a_run(name)) {
      refuse(name);
    }
  }
  for (const std::string& name : names_in(paths.checkpoints)) {
    if (!name.starts_with('.')) {
      refuse(fs::path("checkpoints") / name);
    }
  }
}

// Of the newest checkpoint whose header can be read.
std::optional<Recipe> recipe_of_checkpoint(const RunPaths& paths) {
  const auto checkpoints = state::list_checkpoints(paths.checkpoints);
  for (auto path = checkpoints.rbegin(); path != checkpoints.rend(); ++path) {
    try {
      const auto metadata = state::read_safetensors_metadata(*path);
      if (const auto text = metadata.find("recipe"); text != metadata.end()) {
        Recipe recipe;
        read_recipe_text(recipe, text->second, path->string());
        return recipe;
      }
    } catch (const Error&) {  // `train` will say why
    }
  }
  return std::nullopt;
}

}  // namespace

RunLock::RunLock(const RunPaths& paths) {
  refuse_foreign_folder(paths);
  std::error_code error;
  std::filesystem::create_directories(paths.checkpoints, error);
  if (error) {
    fail(paths.folder.string(), ": cannot be created: ", error.message());
  }
  descriptor_ = ::open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    const std::string reason = std::generic_category().message(errno);
    fail(paths.folder.string(), ": cannot be written: ", reason);
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    fail(
        paths.folder.string(),
        ": another process is training in this folder; wait for it, stop it, "
        "or choose another with --out");
  }
}

RunLock::~RunLock() {
  ::close(descriptor_);
}

std::optional<Recipe> recipe_of_run(const std::filesystem::path& run) {
  const RunPaths paths(run);
  std::optional<Recipe> recipe = recipe_of_checkpoint(paths);
  std::error_code error;
  if (!fs::exists(paths.recipe, error)) {
    return recipe;
  }
  Recipe edited;
  try {
    read_recipe_file(edited, paths.recipe);
  } catch (const UsageError&) {
    if (!recipe) {
      throw;
    }
    return recipe;
  }
  if (!recipe) {
    return edited;
  }
  for (const RecipeField& field : recipe_fields()) {
    if (field.on_resume == OnResume::kMayDiffer) {
      field.set(*recipe, field.get(edited));
    }
  }
  return recipe;
}

}  // namespace barlow::train
