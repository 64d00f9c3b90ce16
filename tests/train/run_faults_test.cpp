// SPDX-License-Identifier: MIT
//
// Runs that meet damage: files, folders, recipes and pictures that are not as
// they should be.

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/state/checkpoint_store.h"
#include "barlow/train/run_folder.h"
#include "barlow/train/trainer.h"
#include "support/tensors.h"
#include "train/synthetic_dataset.h"

namespace barlow::train {
namespace {

namespace fs = std::filesystem;

// 48 images in batches of 16: three steps an epoch, six in all.
Recipe small_recipe() {
  Recipe recipe;
  read_recipe_text(
      recipe,
      R"(epochs = 2
         batch_size = 16
         channels = 1
         architecture = "resnet18"
         blocks = "1"
         stem = "small"
         width_factor = 0.0625
         projector = "8-8"
         warmup_epochs = 1
         checkpoint_every_steps = 2
         keep_checkpoints = 3
         eval_resize = 16
         eval_crop = 16
         [view_a]
         size = 16
         [view_b]
         size = 16)",
      "small");
  return recipe;
}

// Images that cannot be read until they are repaired.
class DamagedDataset : public test::SyntheticDataset {
 public:
  explicit DamagedDataset(std::set<std::int64_t> damaged)
      : SyntheticDataset(50, 1), damaged_(std::move(damaged)) {}

  [[nodiscard]] data::Image load(std::int64_t index) const override {
    if (damaged_.contains(index)) {
      fail("photos/", index, ".jpg: cannot be read");
    }
    return SyntheticDataset::load(index);
  }

 private:
  std::set<std::int64_t> damaged_;
};

struct Result {
  TrainOutcome outcome = TrainOutcome::kComplete;
  std::string error;
  std::vector<std::string> warnings;
  std::int64_t steps = 0;
};

class RunFaults : public testing::Test {
 protected:
  RunFaults() : paths_(folder_.path() / "run") {}

  Result start(
      const Recipe& recipe,
      std::int64_t stop_after = 1000,
      const data::Dataset& dataset = test::SyntheticDataset(50, 1)) const {
    Result result;
    std::atomic<bool> stop{false};
    TrainerEvents events;
    events.on_step = [&](const StepMetrics&) {
      stop = ++result.steps >= stop_after;
    };
    events.on_warning = [&](const std::string& warning) {
      result.warnings.push_back(warning);
    };
    try {
      result.outcome = train(dataset, recipe, paths_.folder, events, stop);
    } catch (const Error& error) {
      result.error = error.what();
    }
    return result;
  }

  [[nodiscard]] fs::path checkpoint(std::int64_t step) const {
    return paths_.checkpoints /
           ("step-00000000" + std::to_string(step) + ".safetensors");
  }

  test::TemporaryFolder folder_;
  RunPaths paths_;
};

void expect_holds(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos)
      << text << "\nexpected to hold: " << part;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

std::string text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void flip_a_bit(const fs::path& path) {
  std::string bytes = text_of(path);
  bytes[bytes.size() - 100] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST_F(RunFaults, ADamagedCheckpointIsNamedAndTheOneBeforeUsed) {
  start(small_recipe(), 4);
  flip_a_bit(checkpoint(4));
  const Result second = start(small_recipe());
  EXPECT_EQ(second.error, "");
  EXPECT_EQ(second.steps, 4);
  ASSERT_EQ(second.warnings.size(), 1U);
  expect_holds(second.warnings[0], "step-000000004.safetensors");
  expect_holds(second.warnings[0], "going on from the one of step 2");
}

TEST_F(RunFaults, ACheckpointBeyondTheLastStepIsRefused) {
  start(small_recipe(), 2);
  state::CheckpointStore store(paths_.checkpoints, 5);
  store.save(9, store.load_latest()->file);
  expect_holds(
      start(small_recipe()).error,
      "found a checkpoint of step 9, expected at most 6");
}

TEST_F(RunFaults, AFolderOfOtherFilesIsRefusedAndLeftAsItIs) {
  fs::create_directories(paths_.folder);
  std::ofstream(paths_.folder / "thesis.tex") << "mine";
  expect_holds(start(small_recipe()).error, "found thesis.tex in it");
  EXPECT_EQ(std::distance(fs::directory_iterator(paths_.folder), {}), 1);
  fs::remove(paths_.folder / "thesis.tex");
  fs::create_directories(paths_.checkpoints);
  std::ofstream(paths_.checkpoints / "model.pt") << "mine";
  expect_holds(start(small_recipe()).error, "checkpoints/model.pt");
}

TEST_F(RunFaults, LogsBesideARunAndAnythingInOneAreTolerated) {
  fs::create_directories(paths_.folder);
  std::ofstream(paths_.folder / "train.log") << "output";
  std::ofstream(paths_.folder / ".hidden") << "x";
  EXPECT_EQ(start(small_recipe(), 2).error, "");
  std::ofstream(paths_.folder / "notes.txt") << "mine";
  EXPECT_EQ(start(small_recipe(), 2).error, "");
}

TEST_F(RunFaults, ABackboneWithoutCheckpointsIsNotWrittenOver) {
  start(small_recipe());
  fs::remove_all(paths_.checkpoints);
  const std::string before = text_of(paths_.backbone);
  expect_holds(start(small_recipe()).error, "no checkpoint to go on from");
  EXPECT_EQ(text_of(paths_.backbone), before);
}

TEST_F(RunFaults, AMissingLogIsNamedAndTheRunGoesOn) {
  start(small_recipe(), 2);
  fs::remove(paths_.metrics);
  const Result second = start(small_recipe());
  EXPECT_EQ(second.error, "");
  ASSERT_EQ(second.warnings.size(), 1U);
  expect_holds(second.warnings[0], "metrics.jsonl: is missing");
}

TEST_F(RunFaults, TheCheckpointsRecipeHoldsNotAnEditedFile) {
  Recipe recipe = small_recipe();
  start(recipe, 2);
  Recipe edited = recipe;
  edited.seed = 7;
  edited.workers = 1;
  std::ofstream(paths_.recipe) << recipe_to_toml(edited);
  const auto found = recipe_of_run(paths_.folder);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->seed, recipe.seed);
  EXPECT_EQ(found->workers, 1);  // may differ, and so is an edit's to choose

  const Result second = start(*found, 2);
  EXPECT_EQ(second.error, "");
  ASSERT_EQ(second.warnings.size(), 1U);
  expect_holds(second.warnings[0], "seed: 0 in the run, 7 now");
  EXPECT_EQ(text_of(paths_.recipe.string() + ".old-1"), recipe_to_toml(edited));
  EXPECT_EQ(text_of(paths_.recipe), recipe_to_toml(*found));
}

TEST_F(RunFaults, ABrokenRecipeFileDoesNotStopARun) {
  start(small_recipe(), 2);
  std::ofstream(paths_.recipe) << "epochs = = 3";
  const auto found = recipe_of_run(paths_.folder);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(resume_differences(small_recipe(), *found).empty());
  const Result second = start(*found);
  EXPECT_EQ(second.error, "");
  ASSERT_EQ(second.warnings.size(), 1U);
  expect_holds(second.warnings[0], "recipe.toml, line 1");
  expect_holds(second.warnings[0], "kept as recipe.toml.old-1");
}

TEST_F(RunFaults, WithoutCheckpointsTheRecipeFileIsTakenOrRefused) {
  EXPECT_FALSE(recipe_of_run(paths_.folder).has_value());
  fs::create_directories(paths_.folder);
  std::ofstream(paths_.recipe) << "epochs = 3";
  EXPECT_EQ(recipe_of_run(paths_.folder)->epochs, 3);
  std::ofstream(paths_.recipe) << "epochs = = 3";
  EXPECT_THROW(static_cast<void>(recipe_of_run(paths_.folder)), UsageError);
}

TEST_F(RunFaults, DivergenceNamesStepTermAndRemedyAndAllowsANewStart) {
  Recipe recipe = small_recipe();
  recipe.optimizer = OptimizerKind::kSgd;
  recipe.learning_rate_weights = 1e30;
  recipe.learning_rate_batch = 0;
  recipe.warmup_epochs = 0;
  const Result first = start(recipe);
  expect_holds(first.error, "step 2: the loss is nan (invariance nan");
  expect_holds(first.error, "lower learning_rate_weights (1e+30)");
  EXPECT_TRUE(state::list_checkpoints(paths_.checkpoints).empty());

  const Result second = start(small_recipe());
  EXPECT_EQ(second.error, "");
  EXPECT_EQ(second.steps, 6);
}

TEST_F(RunFaults, AnUnreadablePictureLosesNoFinishedStep) {
  const test::TemporaryFolder other;
  start(small_recipe());
  const std::string whole = text_of(paths_.backbone);
  fs::remove_all(paths_.folder);

  // Each picture comes once an epoch: some come late in the first.
  std::int64_t lost = 0;
  for (std::int64_t picture = 1; picture < 49 && lost < 1; ++picture) {
    fs::remove_all(paths_.folder);
    const Result first = start(small_recipe(), 1000, DamagedDataset({picture}));
    if (first.error.empty() || first.steps != 1) {
      continue;
    }
    ++lost;
    expect_holds(
        first.error,
        "photos/" + std::to_string(picture) + ".jpg: cannot be read");
    expect_holds(first.error, "saved after step 1");
    expect_holds(first.error, "run the same command again");
    const Result second = start(small_recipe());
    EXPECT_EQ(second.error, "");
    EXPECT_EQ(second.steps, 5);
    EXPECT_EQ(text_of(paths_.backbone), whole);
  }
  EXPECT_EQ(lost, 1);
}

TEST_F(RunFaults, ARecipeOutOfRangeLeavesNoFolder) {
  const auto refused = [&](auto change, const std::string& found) {
    Recipe recipe = small_recipe();
    change(recipe);
    expect_holds(start(recipe).error, found);
    EXPECT_FALSE(fs::exists(paths_.folder));
  };
  refused([](Recipe& r) { r.momentum = 1; }, "momentum: found 1.0");
  refused([](Recipe& r) { r.workers = 1025; }, "workers: found 1025");
  refused([](Recipe& r) { r.threads = 4097; }, "threads: found 4097");
  refused([](Recipe& r) { r.view_b.size = 16385; }, "view_b.size: found 16385");
  refused([](Recipe& r) { r.batch_size = 51; }, "51");
}

}  // namespace
}  // namespace barlow::train
