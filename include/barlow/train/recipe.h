// SPDX-License-Identifier: MIT
//
// A recipe: everything that decides what a training run computes.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "barlow/data/augment.h"
#include "barlow/data/sampler.h"
#include "barlow/loss/barlow_twins_loss.h"
#include "barlow/model/resnet.h"

namespace barlow::train {

enum class OptimizerKind { kLars, kClippedLars, kSgd, kAdamW };
enum class Precision { kFloat32, kBFloat16 };

/// Over which rows the cross-correlation matrix is taken.
enum class Correlation {
  kGlobal,   ///< all ranks': the method
  kPerRank,  ///< each rank's own, losses averaged: another objective, whose
             ///< value and minimum depend on the number of ranks; to compare
};

/// Defaults are the authors' recipe for ImageNet at batch 2048 (paper, section
/// 3.2). Meaning and range of each field: `recipe_fields`, which is also what
/// `barlow pretrain --help` prints.
struct Recipe {
  std::int64_t epochs = 1000;
  std::int64_t batch_size = 2048;
  std::int64_t micro_batch = 0;
  std::uint64_t seed = 0;
  Precision precision = Precision::kFloat32;
  std::string device = "auto";
  std::int64_t threads = 0;

  std::int64_t channels = 3;
  data::OnPartialBatch partial_batch = data::OnPartialBatch::kDrop;
  std::int64_t workers = 2;
  std::int64_t queue_batches = 4;
  data::Normalization normalization;
  data::ViewOptions view_a;
  data::ViewOptions view_b;
  std::int64_t eval_resize = 256;
  std::int64_t eval_crop = 224;

  model::ResNetOptions backbone;  // in_channels and blocks: from the two keys
  std::string blocks;
  std::string projector = "8192-8192-8192";

  BarlowTwinsLossOptions loss;
  Correlation correlation = Correlation::kGlobal;
  double loss_scale = 1.0;

  OptimizerKind optimizer = OptimizerKind::kLars;
  double learning_rate_weights = 0.2;
  double learning_rate_biases = 0.0048;
  std::int64_t learning_rate_batch = 256;
  double weight_decay = 1e-6;
  double momentum = 0.9;
  double trust_coefficient = 0.001;
  double warmup_epochs = 10;

  std::int64_t checkpoint_every_steps = 0;
  std::int64_t keep_checkpoints = 2;
  std::int64_t log_every_steps = 1;

  Recipe();
};

using RecipeValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<double>>;

/// May a field differ between a run and its continuation?
enum class OnResume {
  kMustMatch,  ///< it changes what is computed
  kMayDiffer,  ///< it belongs to the machine or to housekeeping
};

/// One key of a recipe. The list of these serves defaults, files, flags, help,
/// printing and the check at resume.
struct RecipeField {
  std::string key;       ///< "batch_size", "view_a.min_area"
  std::string group;     ///< heading in help and files
  std::string help;      ///< meaning, unit
  std::string expected;  ///< "an integer in [1, 100]", for help and messages
  OnResume on_resume = OnResume::kMustMatch;
  std::function<RecipeValue(const Recipe&)> get;
  /// Throws UsageError, naming the key, what was found and what was expected.
  std::function<void(Recipe&, const RecipeValue&)> set;
};

/// All keys in the order in which they are printed.
[[nodiscard]] const std::vector<RecipeField>& recipe_fields();

/// Reads a TOML file over `recipe`: keys not named in it keep their value.
/// Throws UsageError: no such file; a syntax error, with line and column; an
/// unknown key, with the nearest valid one; a wrong type or range.
void read_recipe_file(Recipe& recipe, const std::filesystem::path& path);

/// The same for TOML text; `name` stands for the file in messages.
void read_recipe_text(
    Recipe& recipe,
    const std::string& text,
    const std::string& name);

/// Sets one key from text, as given on a command line: "256", "true",
/// "resnet18", "0.485,0.456,0.406". Throws UsageError as above.
void set_recipe_key(
    Recipe& recipe,
    const std::string& key,
    const std::string& value);

/// The value of a field as TOML: "0.5", "\"lars\"", "[0.5, 0.5]".
[[nodiscard]] std::string recipe_value_text(const RecipeValue& value);

/// The whole recipe as a TOML file, which `read_recipe_text` reads back to the
/// same recipe.
[[nodiscard]] std::string recipe_to_toml(const Recipe& recipe);

/// Refuses values outside of their fields' ranges and combinations that cannot
/// work, naming the keys. Throws UsageError.
void check_recipe(const Recipe& recipe);

/// The keys with OnResume::kMustMatch in which two recipes differ, each as
/// "key: A in the run, B now"; empty when the run may continue.
[[nodiscard]] std::vector<std::string> resume_differences(
    const Recipe& run,
    const Recipe& now);

}  // namespace barlow::train
