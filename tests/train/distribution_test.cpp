// SPDX-License-Identifier: MIT
//
// One training run on one rank and on several, ranks as threads over Gloo.

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/data/sampler.h"
#include "barlow/dist/connect.h"
#include "barlow/model/named_state.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "support/tensors.h"

namespace barlow::train {
namespace {

// 47 images: no number of ranks above 1 divides them.
constexpr std::int64_t kBatch = 47;
constexpr std::int64_t kSteps = 20;

Recipe small_recipe() {
  Recipe recipe;
  recipe.channels = 1;
  recipe.batch_size = kBatch;
  recipe.backbone.architecture = "resnet18";
  recipe.backbone.width_factor = 0.25;
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.blocks = "1-1";
  recipe.projector = "32-16";
  return recipe;
}

struct RunResult {
  std::vector<double> losses;
  NamedTensors state;  // the encoder's and projector's, after the last step
};

struct RunOptions {
  Recipe recipe = small_recipe();
  torch::ScalarType type = torch::kFloat32;
  int ranks = 1;
  std::vector<std::int64_t> rows = {};  // of each rank; default: rank_slice
};

// The authors' rates at batch 256. In float32 they rise from 0, as in a
// warm-up: the loss is so sharp at first that full rates amplify any rounding
// tenfold a step, in one process as in many. float64 has digits to spare.
optim::LearningRates rates_of_step(const RunOptions& options, std::int64_t i) {
  const double factor =
      options.type == torch::kFloat64 ? 1.0 : static_cast<double>(i) / 500;
  return {.weights = 0.2 * factor, .biases = 0.0048 * factor};
}

data::Slice own_rows(const RunOptions& options, int rank) {
  if (options.rows.empty()) {
    return data::rank_slice(kBatch, rank, options.ranks);
  }
  const auto begin = options.rows.begin();
  const std::int64_t first =
      std::accumulate(begin, begin + rank, std::int64_t{0});
  return {first, first + *(begin + rank)};
}

void run_rank(
    const RunOptions& options,
    const dist::ProcessGroup& group,
    RunResult& result) {
  model::BarlowTwins model = make_model(options.recipe, torch::kCPU);
  model->to(options.type);
  const auto optimizer = make_optimizer(options.recipe, model);
  TrainingStep step(
      model,
      *optimizer,
      training_step_options(options.recipe),
      group);
  const data::Slice rows = own_rows(options, group.rank());
  for (std::int64_t i = 0; i < kSteps; ++i) {
    const auto view = [&](std::uint64_t seed) {
      return test::normal({kBatch, 1, 12, 12}, seed)
          .narrow(0, rows.begin, rows.size())
          .to(options.type)
          .contiguous(torch::MemoryFormat::ChannelsLast);
    };
    const auto seed = static_cast<std::uint64_t>(2 * i);
    result.losses.push_back(step.run(
                                    view(seed),
                                    view(seed) + 0.5 * view(seed + 1),
                                    rates_of_step(options, i))
                                .loss);
  }
  for (const auto& [name, tensor] : model::named_state(*model)) {
    result.state.emplace(name, tensor.clone());
  }
}

std::vector<RunResult> run(const RunOptions& options) {
  std::vector<RunResult> results(static_cast<std::size_t>(options.ranks));
  dist::run_local_ranks(options.ranks, [&](const dist::ProcessGroup& group) {
    run_rank(options, group, results[static_cast<std::size_t>(group.rank())]);
  });
  return results;
}

double worst_loss_error(const RunResult& actual, const RunResult& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    worst = std::max(
        worst,
        std::abs(actual.losses[i] - expected.losses[i]) / expected.losses[i]);
  }
  return worst;
}

// Over all of the network, so that a bias of nearly 0 does not decide.
double state_error(const RunResult& actual, const RunResult& expected) {
  const auto flat = [](const RunResult& result) {
    std::vector<torch::Tensor> parts;
    for (const auto& [name, tensor] : result.state) {
      parts.push_back(tensor.to(torch::kFloat64).reshape(-1));
    }
    return torch::cat(parts);
  };
  return test::relative_error(flat(actual), flat(expected));
}

void expect_equal_runs(
    const RunOptions& options,
    double loss_bound,
    double state_bound) {
  RunOptions alone = options;
  alone.ranks = 1;
  alone.rows.clear();
  const RunResult expected = run(alone)[0];
  const std::vector<RunResult> results = run(options);
  for (const RunResult& rank : results) {
    EXPECT_LT(worst_loss_error(rank, expected), loss_bound);
    EXPECT_LT(state_error(rank, expected), state_bound);
    // The ranks stay equal to the bit: nothing corrects them if they part.
    EXPECT_EQ(rank.losses, results[0].losses);
    EXPECT_EQ(state_error(rank, results[0]), 0);
  }
}

class AnyWorldSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AnyWorldSize, testing::Values(2, 3, 4));

TEST_P(AnyWorldSize, TrainsTheSameInFloat64) {
  // 1e-16 of rounding, amplified by twenty steps; any error of the method would
  // show at 1e-2 and above.
  expect_equal_runs({.type = torch::kFloat64, .ranks = GetParam()}, 1e-9, 1e-9);
}

TEST_P(AnyWorldSize, TrainsTheSameInFloat32) {
  expect_equal_runs({.ranks = GetParam()}, 1e-5, 1e-4);
}

TEST(AnySplit, TrainsTheSameWithUnequalAndEmptyRanks) {
  for (const std::vector<std::int64_t>& rows :
       {std::vector<std::int64_t>{40, 7}, {0, 19, 28}, {1, 0, 46, 0}}) {
    expect_equal_runs(
        {.type = torch::kFloat64,
         .ranks = static_cast<int>(rows.size()),
         .rows = rows},
        1e-9,
        1e-9);
  }
}

TEST(AnyPath, TrainsTheSame) {
  for (const LossPath path :
       {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
    Recipe recipe = small_recipe();
    recipe.loss.path = path;
    expect_equal_runs(
        {.recipe = recipe, .type = torch::kFloat64, .ranks = 3},
        1e-9,
        1e-9);
  }
}

TEST(Correlation, PerRankIsAnotherObjective) {
  Recipe recipe = small_recipe();
  recipe.correlation = Correlation::kPerRank;
  const RunResult alone = run({.recipe = recipe})[0];
  const RunResult global = run({})[0];
  EXPECT_EQ(alone.losses, global.losses);  // the same thing on one rank
  const std::vector<RunResult> ranks = run({.recipe = recipe, .ranks = 3});
  EXPECT_GT(worst_loss_error(ranks[0], global), 0.1);
  // The ranks agree with each other, and report the mean of their losses.
  EXPECT_EQ(ranks[0].losses, ranks[2].losses);
  EXPECT_EQ(state_error(ranks[1], ranks[0]), 0);
}

TEST(EmulateWorldSize, DividesTheGradientOnAnyNumberOfRanks) {
  Recipe recipe = small_recipe();
  recipe.loss.emulate_world_size = 4;
  expect_equal_runs(
      {.recipe = recipe, .type = torch::kFloat64, .ranks = 2},
      1e-9,
      1e-9);
  // The loss of the first step is the same, what is learned from it is not.
  const RunResult emulated = run({.recipe = recipe})[0];
  const RunResult plain = run({})[0];
  EXPECT_EQ(emulated.losses[0], plain.losses[0]);
  EXPECT_GT(state_error(emulated, plain), 1e-6);
}

}  // namespace
}  // namespace barlow::train
