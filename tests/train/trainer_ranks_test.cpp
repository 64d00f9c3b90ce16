// SPDX-License-Identifier: MIT
//
// Whole runs on several ranks: folder, agreement, stop, failure.

#include <atomic>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/dist/connect.h"
#include "barlow/state/safetensors.h"
#include "barlow/train/run_folder.h"
#include "barlow/train/trainer.h"
#include "support/tensors.h"
#include "train/synthetic_dataset.h"

namespace barlow::train {
namespace {

// 50 images in batches of 17: two steps an epoch and 16 images left over.
Recipe small_recipe() {
  Recipe recipe;
  read_recipe_text(
      recipe,
      R"(epochs = 3
         batch_size = 17
         partial_batch = "keep"
         channels = 1
         architecture = "resnet18"
         blocks = "1"
         stem = "small"
         width_factor = 0.125
         projector = "16-8"
         learning_rate_weights = 0.002
         learning_rate_biases = 0.00005
         warmup_epochs = 1
         eval_resize = 16
         eval_crop = 16
         [view_a]
         size = 16
         [view_b]
         size = 16)",
      "small");
  return recipe;
}

// An image that cannot be read.
class BrokenDataset : public test::SyntheticDataset {
 public:
  using SyntheticDataset::SyntheticDataset;

  [[nodiscard]] data::Image load(std::int64_t index) const override {
    // Not the ones of which the fingerprint is taken.
    if (index == 7) {
      fail("photos/7.jpg: cannot be read");
    }
    return SyntheticDataset::load(index);
  }
};

struct RankResult {
  TrainOutcome outcome = TrainOutcome::kComplete;
  std::string error;
};

// Each rank's end. `stop_after`: steps after which rank 1 asks to stop.
std::vector<RankResult> train_ranks(
    int ranks,
    const data::Dataset& dataset,
    const std::function<Recipe(int rank)>& recipe_of,
    const std::filesystem::path& run,
    std::int64_t stop_after = 1000) {
  std::vector<RankResult> results(static_cast<std::size_t>(ranks));
  dist::run_local_ranks(ranks, [&](const dist::ProcessGroup& group) {
    RankResult& result = results[static_cast<std::size_t>(group.rank())];
    std::atomic<bool> stop{false};
    std::int64_t steps = 0;
    TrainerEvents events;
    events.on_step = [&](const StepMetrics&) {
      stop = ++steps >= stop_after;
    };
    try {
      result.outcome =
          train(dataset, recipe_of(group.rank()), run, events, stop, group);
    } catch (const std::exception& error) {
      result.error = error.what();
    }
  });
  return results;
}

torch::Tensor all_weights(const std::filesystem::path& run) {
  std::vector<torch::Tensor> parts;
  for (const auto& [name, tensor] :
       state::read_safetensors(run / "backbone.safetensors").tensors) {
    parts.push_back(tensor.to(torch::kFloat64).reshape(-1));
  }
  return torch::cat(parts);
}

std::size_t lines_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::size_t count = 0;
  while (std::getline(stream, line)) {
    ++count;
  }
  return count;
}

TEST(TrainOnRanks, EndsWithTheWeightsOfOneRankAndOneFolder) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  const auto recipe = [](int /*rank*/) {
    return small_recipe();
  };
  static_cast<void>(train_ranks(1, dataset, recipe, folder.path() / "1"));
  const torch::Tensor expected = all_weights(folder.path() / "1");
  for (const int ranks : {2, 3}) {
    const auto run = folder.path() / std::to_string(ranks);
    for (const RankResult& rank : train_ranks(ranks, dataset, recipe, run)) {
      EXPECT_EQ(rank.error, "");
      EXPECT_EQ(rank.outcome, TrainOutcome::kComplete);
    }
    EXPECT_LT(test::relative_error(all_weights(run), expected), 1e-4);
    EXPECT_EQ(lines_of(run / "metrics.jsonl"), 9U);  // three steps an epoch
  }
}

TEST(TrainOnRanks, StopsAllAfterOneStepAndGoesOnWithAnotherNumber) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  const auto recipe = [](int /*rank*/) {
    return small_recipe();
  };
  static_cast<void>(train_ranks(1, dataset, recipe, folder.path() / "whole"));
  const auto run = folder.path() / "pieces";
  for (const int ranks : {2, 1, 3}) {
    for (const RankResult& rank :
         train_ranks(ranks, dataset, recipe, run, /*stop_after=*/2)) {
      EXPECT_EQ(rank.error, "");
      EXPECT_EQ(rank.outcome, TrainOutcome::kInterrupted);
    }
  }
  EXPECT_EQ(lines_of(run / "metrics.jsonl"), 6U);
  static_cast<void>(train_ranks(2, dataset, recipe, run));
  EXPECT_LT(
      test::relative_error(
          all_weights(run),
          all_weights(folder.path() / "whole")),
      1e-4);
  for (const RankResult& rank : train_ranks(3, dataset, recipe, run)) {
    EXPECT_EQ(rank.outcome, TrainOutcome::kAlreadyComplete);
  }
}

TEST(TrainOnRanks, RefusesRanksThatWereGivenDifferentRuns) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  const auto results = train_ranks(
      3,
      dataset,
      [](int rank) {
        Recipe recipe = small_recipe();
        recipe.workers = rank;  // may differ
        recipe.loss.lambda = rank == 2 ? 0.5 : 0.25;
        return recipe;
      },
      folder.path() / "run");
  for (const RankResult& rank : results) {
    EXPECT_NE(
        rank.error.find("rank 2 was not given the same run as rank 0: found "
                        "lambda = 0.5, expected lambda = 0.25"),
        std::string::npos)
        << rank.error;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST(TrainOnRanks, TellsAllRanksWhatOneOfThemMet) {
  const test::TemporaryFolder folder;
  const BrokenDataset dataset(50, 1);
  const auto results = train_ranks(
      2,
      dataset,
      [](int /*rank*/) { return small_recipe(); },
      folder.path() / "run");
  for (const RankResult& rank : results) {
    EXPECT_NE(
        rank.error.find("photos/7.jpg: cannot be read"),
        std::string::npos)
        << rank.error;
  }
}

TEST(TrainOnRanks, PerRankCorrelationIsNotContinuedByAnotherNumber) {
  const test::TemporaryFolder folder;
  const test::SyntheticDataset dataset(50, 1);
  const auto recipe = [](int /*rank*/) {
    Recipe per_rank = small_recipe();
    per_rank.correlation = Correlation::kPerRank;
    return per_rank;
  };
  const auto run = folder.path() / "run";
  static_cast<void>(train_ranks(2, dataset, recipe, run, 2));
  const auto alone = train_ranks(1, dataset, recipe, run);
  EXPECT_NE(alone[0].error.find("per-rank"), std::string::npos);
  for (const RankResult& rank : train_ranks(2, dataset, recipe, run)) {
    EXPECT_EQ(rank.error, "");
  }
}

}  // namespace
}  // namespace barlow::train
