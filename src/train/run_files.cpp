// SPDX-License-Identifier: MIT

#include "train/run_files.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "barlow/core/version.h"
#include "barlow/state/atomic_file.h"

namespace barlow::train {
namespace {

const std::string& metadata_value(
    const state::TensorFile& checkpoint,
    const std::string& key) {
  const auto entry = checkpoint.metadata.find(key);
  if (entry == checkpoint.metadata.end()) {
    fail("checkpoint without \"", key, "\" in its metadata: not a run's");
  }
  return entry->second;
}

double time_of(const state::TensorFile& checkpoint) {
  const std::string& text = metadata_value(checkpoint, "time_s");
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || parsed != end) {
    fail("checkpoint with time_s \"", text, "\", expected a number");
  }
  return seconds;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Why the recipe.toml at `path` is not to be lost; "" if it holds nothing but
// what a run of `recipe` has written.
std::string recipe_flaw(
    const std::filesystem::path& path,
    const Recipe& recipe) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return "";
  }
  Recipe found;
  try {
    read_recipe_file(found, path);
  } catch (const UsageError& flaw) {
    return flaw.what();
  }
  const std::vector<std::string> differences =
      resume_differences(recipe, found);
  if (!differences.empty()) {
    std::string flaw = path.string();
    return flaw.append(": not this run's recipe (")
        .append(join(differences, "; "))
        .append(")");
  }
  return text_of(path) == recipe_to_toml(found)
             ? ""
             : path.string() + ": not as this barlow writes it (edited?)";
}

}  // namespace

RunFiles::RunFiles(const std::filesystem::path& folder, RunIdentity identity)
    : paths_(folder),
      identity_(std::move(identity)),
      lock_(paths_),
      checkpoints_(paths_.checkpoints, identity_.recipe.keep_checkpoints) {}

std::optional<RunState> RunFiles::load(const OnWarning& on_warning) const {
  auto loaded = checkpoints_.load_latest();
  const bool trained = std::filesystem::exists(paths_.backbone);
  if (!loaded) {
    if (trained) {
      fail<UsageError>(
          paths_.backbone.string(),
          ": a trained encoder, but no checkpoint to go on from; choose "
          "another --out, or move it away to start anew");
    }
    return std::nullopt;
  }
  for (const std::string& warning : loaded->warnings) {
    on_warning(
        warning + "; going on from the one of step " +
        std::to_string(loaded->step));
  }
  refuse_another_run(loaded->file);
  return RunState{
      .tensors = std::move(loaded->file.tensors),
      .progress = {
          .step = loaded->step,
          .time_s = time_of(loaded->file),
          .complete = trained}};
}

void RunFiles::refuse_another_recipe(const Recipe& recipe) const {
  const std::vector<std::string> differences =
      resume_differences(recipe, identity_.recipe);
  if (!differences.empty()) {
    fail<UsageError>(
        paths_.folder.string(),
        ": holds a run of another recipe (",
        join(differences, "; "),
        "); use its values, or another --out");
  }
}

void RunFiles::refuse_another_run(const state::TensorFile& checkpoint) const {
  Recipe saved;
  read_recipe_text(
      saved,
      metadata_value(checkpoint, "recipe"),
      "the checkpoint's recipe");
  refuse_another_recipe(saved);
  const std::string& fingerprint = metadata_value(checkpoint, "dataset");
  if (fingerprint != identity_.dataset_fingerprint) {
    fail(
        paths_.folder.string(),
        ": the run was made on other data: found ",
        identity_.dataset_fingerprint,
        ", expected ",
        fingerprint);
  }
  // Files of version 0.1.0 lack the number: one process wrote them.
  const auto ranks = checkpoint.metadata.find("world_size");
  const std::string before =
      ranks == checkpoint.metadata.end() ? "1" : ranks->second;
  if (saved.correlation == Correlation::kPerRank &&
      before != std::to_string(identity_.world_size)) {
    fail<UsageError>(
        paths_.folder.string(),
        ": correlation per-rank is another objective for another number of "
        "ranks: found ",
        identity_.world_size,
        ", expected ",
        before);
  }
}

void RunFiles::write_recipe(const OnWarning& on_warning) const {
  const std::string flaw = recipe_flaw(paths_.recipe, identity_.recipe);
  if (!flaw.empty()) {
    const std::filesystem::path aside = state::set_aside(paths_.recipe);
    on_warning(
        flaw + "; kept as " + aside.filename().string() +
        ", the run's own recipe takes its place");
  }
  state::write_text_atomically(paths_.recipe, recipe_to_toml(identity_.recipe));
}

std::filesystem::path RunFiles::save(const RunState& state) const {
  const RunProgress& progress = state.progress;
  return checkpoints_.save(
      progress.step,
      {.tensors = state.tensors,
       .metadata = {
           {"recipe", recipe_to_toml(identity_.recipe)},
           {"dataset", identity_.dataset_fingerprint},
           {"world_size", std::to_string(identity_.world_size)},
           {"step", std::to_string(progress.step)},
           {"time_s", std::to_string(progress.time_s)},
           {"barlow_version", kVersion}}});
}

void RunFiles::save_backbone(const NamedTensors& backbone, std::int64_t step)
    const {
  state::write_safetensors(
      paths_.backbone,
      {.tensors = backbone,
       .metadata = {
           {"format", "barlow-backbone"},
           {"recipe", recipe_to_toml(identity_.recipe)},
           {"step", std::to_string(step)},
           {"barlow_version", kVersion}}});
}

}  // namespace barlow::train
