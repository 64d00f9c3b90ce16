// SPDX-License-Identifier: MIT

#include "barlow/train/trainer.h"

#include <atomic>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/state/safetensors.h"
#include "barlow/train/run_folder.h"
#include "support/tensors.h"
#include "train/synthetic_dataset.h"

namespace barlow::train {
namespace {

// 48 images in batches of 16: three steps an epoch, twelve in all.
Recipe small_recipe() {
  Recipe recipe;
  read_recipe_text(
      recipe,
      R"(epochs = 4
         batch_size = 16
         channels = 1
         architecture = "resnet18"
         stem = "small"
         width_factor = 0.0625
         projector = "16-16"
         optimizer = "lars"
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

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Trains until `stop_after` steps were done in this process.
TrainOutcome train_until(
    const data::Dataset& dataset,
    const Recipe& recipe,
    const std::filesystem::path& run,
    std::int64_t stop_after) {
  std::atomic<bool> stop{false};
  std::int64_t done = 0;
  TrainerEvents events;
  events.on_step = [&](const StepMetrics&) {
    stop = ++done >= stop_after;
  };
  return train(dataset, recipe, run, events, stop);
}

constexpr std::int64_t kNeverStop = 1000;

TEST(Train, ResumedRunsEndInTheSameBitsAsOneNeverStopped) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  const Recipe recipe = small_recipe();
  EXPECT_EQ(
      train_until(dataset, recipe, folder.path() / "whole", kNeverStop),
      TrainOutcome::kComplete);
  const std::string expected =
      bytes_of(folder.path() / "whole" / "backbone.safetensors");
  ASSERT_FALSE(expected.empty());

  for (const std::int64_t pieces : {1, 2, 5}) {
    const auto run = folder.path() / ("pieces" + std::to_string(pieces));
    TrainOutcome outcome = TrainOutcome::kInterrupted;
    int starts = 0;
    while (outcome == TrainOutcome::kInterrupted) {
      outcome = train_until(dataset, recipe, run, pieces);
      ++starts;
    }
    EXPECT_EQ(outcome, TrainOutcome::kComplete);
    EXPECT_EQ(starts, (12 + pieces - 1) / pieces);
    EXPECT_EQ(bytes_of(run / "backbone.safetensors"), expected);
  }
}

TEST(Train, NumberOfWorkersChangesNothing) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  std::vector<std::string> weights;
  for (const std::int64_t workers : {0, 1, 4}) {
    Recipe recipe = small_recipe();
    recipe.epochs = 2;
    recipe.workers = workers;
    const auto run = folder.path() / std::to_string(workers);
    static_cast<void>(train_until(dataset, recipe, run, kNeverStop));
    // The recipe in the file's metadata names the workers: compare tensors.
    const auto file = state::read_safetensors(run / "backbone.safetensors");
    std::string all;
    for (const auto& [name, tensor] : file.tensors) {
      all.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
    }
    weights.push_back(all);
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
}

TEST(Train, LogsEachStepOnceAcrossStops) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  const Recipe recipe = small_recipe();
  while (train_until(dataset, recipe, folder.path(), 5) ==
         TrainOutcome::kInterrupted) {
  }
  std::ifstream log(RunPaths(folder.path()).metrics);
  std::string line;
  int step = 0;
  while (std::getline(log, line)) {
    ++step;
    EXPECT_NE(
        line.find("{\"step\":" + std::to_string(step) + ","),
        std::string::npos)
        << line;
  }
  EXPECT_EQ(step, 12);
}

TEST(Train, ACompleteRunIsLeftAsItIs) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  static_cast<void>(
      train_until(dataset, small_recipe(), folder.path(), kNeverStop));
  const std::string log = bytes_of(RunPaths(folder.path()).metrics);
  EXPECT_EQ(
      train_until(dataset, small_recipe(), folder.path(), kNeverStop),
      TrainOutcome::kAlreadyComplete);
  EXPECT_EQ(bytes_of(RunPaths(folder.path()).metrics), log);
}

TEST(Train, RefusesToContinueWithAnotherRecipe) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  static_cast<void>(train_until(dataset, small_recipe(), folder.path(), 3));
  Recipe other = small_recipe();
  other.seed = 5;
  try {
    static_cast<void>(train_until(dataset, other, folder.path(), 3));
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(
        std::string(error.what()).find("seed: 0 in the run, 5 now"),
        std::string::npos)
        << error.what();
  }
}

TEST(Train, RefusesToContinueOnOtherData) {
  const test::TemporaryFolder folder;
  static_cast<void>(train_until(
      test::SyntheticDataset(50, 1),
      small_recipe(),
      folder.path(),
      3));
  EXPECT_THROW(
      static_cast<void>(train_until(
          test::SyntheticDataset(50, 2),
          small_recipe(),
          folder.path(),
          3)),
      Error);
  EXPECT_THROW(
      static_cast<void>(train_until(
          test::SyntheticDataset(51, 1),
          small_recipe(),
          folder.path(),
          3)),
      Error);
}

TEST(Train, RefusesAFolderThatAnotherProcessHolds) {
  const test::TemporaryFolder folder;
  const RunPaths paths(folder.path());
  const RunLock lock(paths);
  EXPECT_THROW(
      static_cast<void>(train_until(
          test::SyntheticDataset(50, 1),
          small_recipe(),
          folder.path(),
          3)),
      Error);
}

TEST(Train, StopsWithAnErrorWhenTheLossIsNotFinite) {
  const test::TemporaryFolder folder;
  Recipe recipe = small_recipe();
  recipe.optimizer = OptimizerKind::kSgd;
  recipe.learning_rate_weights = 1e30;
  recipe.learning_rate_batch = 0;
  recipe.warmup_epochs = 0;
  EXPECT_THROW(
      static_cast<void>(train_until(
          test::SyntheticDataset(50, 1),
          recipe,
          folder.path(),
          kNeverStop)),
      Error);
}

}  // namespace
}  // namespace barlow::train
