// SPDX-License-Identifier: MIT

#include "barlow/train/trained_encoder.h"

#include <utility>

#include "barlow/core/error.h"
#include "barlow/model/initialize.h"
#include "barlow/model/named_state.h"
#include "barlow/state/checkpoint_store.h"
#include "barlow/state/safetensors.h"
#include "barlow/train/run_folder.h"
#include "barlow/train/setup.h"

namespace barlow::train {
namespace {

constexpr const char* kBackbonePrefix = "model.backbone.";

model::ResNet make_backbone(const Recipe& recipe) {
  model::ResNet backbone(backbone_options(recipe));
  backbone->eval();
  return backbone;
}

// A checkpoint's tensors under the backbone's own names; other files as they
// are.
NamedTensors backbone_tensors(const NamedTensors& all) {
  NamedTensors backbone;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(kBackbonePrefix)) {
      const std::size_t length = std::string(kBackbonePrefix).size();
      backbone.emplace(name.substr(length), tensor);
    }
  }
  return backbone.empty() ? all : backbone;
}

struct Weights {
  std::filesystem::path path;
  state::TensorFile file;
};

// The newest checkpoint that is whole: the run may be writing, or its machine
// may have stopped in the middle of one.
Weights newest_checkpoint(const RunPaths& paths) {
  const auto checkpoints = state::list_checkpoints(paths.checkpoints);
  std::string damage;
  for (auto path = checkpoints.rbegin(); path != checkpoints.rend(); ++path) {
    try {
      return {*path, state::read_safetensors(*path)};
    } catch (const Error& error) {
      damage = damage.empty() ? error.what() : damage;
    }
  }
  if (!damage.empty()) {
    fail(damage);
  }
  fail<UsageError>(
      paths.folder.string(),
      ": found neither backbone.safetensors nor a checkpoint, expected the "
      "folder of a run, or a file of weights");
}

Weights read_weights(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return {path, state::read_safetensors(path)};
  }
  const RunPaths paths(path);
  if (std::filesystem::exists(paths.backbone)) {
    return {paths.backbone, state::read_safetensors(paths.backbone)};
  }
  return newest_checkpoint(paths);
}

Recipe recipe_of(
    const state::TensorFile& file,
    const std::filesystem::path& path,
    const std::optional<Recipe>& recipe) {
  const auto saved = file.metadata.find("recipe");
  if (saved == file.metadata.end() && !recipe) {
    fail<UsageError>(
        path.string(),
        ": carries no recipe; say with --recipe and --set which architecture, "
        "channels and image size its weights are for");
  }
  if (recipe) {
    return *recipe;
  }
  Recipe own;
  read_recipe_text(own, saved->second, path.string());
  return own;
}

}  // namespace

TrainedEncoder load_encoder(
    const std::filesystem::path& path,
    const std::optional<Recipe>& recipe) {
  if (!std::filesystem::exists(path)) {
    fail<UsageError>(
        path.string(),
        ": no such file or folder; expected a run or a file of weights");
  }
  const auto [file_path, file] = read_weights(path);
  TrainedEncoder encoder;
  encoder.recipe = recipe_of(file, file_path, recipe);
  encoder.backbone = make_backbone(encoder.recipe);
  model::load_state(
      *encoder.backbone,
      backbone_tensors(file.tensors),
      {.ignore = {"fc.*"}, .source = file_path.string()});
  encoder.origin = file_path.string();
  if (const auto step = file.metadata.find("step");
      step != file.metadata.end()) {
    encoder.origin += ", step " + step->second;
  }
  return encoder;
}

TrainedEncoder untrained_encoder(const Recipe& recipe) {
  TrainedEncoder encoder;
  encoder.recipe = recipe;
  encoder.backbone = make_backbone(recipe);
  model::initialize_parameters(*encoder.backbone, recipe.seed);
  encoder.origin = "untrained, seed " + std::to_string(recipe.seed);
  return encoder;
}

}  // namespace barlow::train
