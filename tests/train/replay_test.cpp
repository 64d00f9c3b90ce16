// SPDX-License-Identifier: MIT
//
// The large batch in pieces: the same loss, the same gradient.

#include <gtest/gtest.h>

#include "barlow/core/peak_memory.h"
#include "barlow/data/sampler.h"
#include "barlow/dist/connect.h"
#include "barlow/model/layers.h"
#include "barlow/model/named_state.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "support/tensors.h"

namespace barlow::train {
namespace {

constexpr std::int64_t kRows = 22;
constexpr optim::LearningRates kNoRates{.weights = 0, .biases = 0};

Recipe small_recipe() {
  Recipe recipe;
  recipe.channels = 1;
  recipe.backbone.architecture = "resnet18";
  recipe.backbone.width_factor = 0.25;
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.blocks = "1-1";
  recipe.projector = "16-12";
  return recipe;
}

torch::Tensor images(std::uint64_t seed, torch::ScalarType type) {
  return test::normal({kRows, 1, 10, 10}, seed)
      .to(type)
      .contiguous(torch::MemoryFormat::ChannelsLast);
}

struct Outcome {
  TrainingStepResult result;
  NamedTensors gradients;
  NamedTensors state;
};

// Batch norm of a fixed affine map, which sees no batch: evaluation mode.
enum class Norm { kBatch, kFixed };

Outcome one_step(
    const Recipe& recipe,
    torch::ScalarType type,
    Norm norm = Norm::kBatch,
    const dist::ProcessGroup& group = {}) {
  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  model->to(type);
  if (norm == Norm::kFixed) {
    model->eval();
  }
  const auto optimizer = make_optimizer(recipe, model);
  TrainingStep step(model, *optimizer, training_step_options(recipe), group);
  const data::Slice rows = data::rank_slice(kRows, group.rank(), group.size());
  const auto own = [&](std::uint64_t seed) {
    return images(seed, type).narrow(0, rows.begin, rows.size());
  };
  Outcome outcome;
  outcome.result = step.run(own(1), own(1) + 0.5 * own(2), kNoRates);
  for (const auto& parameter : model->named_parameters()) {
    outcome.gradients.emplace(parameter.key(), parameter.value().grad());
  }
  outcome.state = model::named_state(*model);
  return outcome;
}

double worst_error(const NamedTensors& actual, const NamedTensors& expected) {
  double worst = 0;
  for (const auto& [name, tensor] : expected) {
    worst = std::max(worst, test::relative_error(actual.at(name), tensor));
  }
  return worst;
}

TEST(Replay, WithoutBatchStatisticsHasTheGradientOfTheWholeBatch) {
  Recipe recipe = small_recipe();
  const Outcome whole = one_step(recipe, torch::kFloat64, Norm::kFixed);
  const Outcome whole32 = one_step(recipe, torch::kFloat32, Norm::kFixed);
  for (const std::int64_t size : {1, 3, 8, 21, 22, 100}) {
    recipe.micro_batch = size;
    const Outcome pieces = one_step(recipe, torch::kFloat64, Norm::kFixed);
    EXPECT_NEAR(pieces.result.loss, whole.result.loss, 1e-11);
    EXPECT_LT(worst_error(pieces.gradients, whole.gradients), 1e-10) << size;
    const Outcome pieces32 = one_step(recipe, torch::kFloat32, Norm::kFixed);
    EXPECT_LT(worst_error(pieces32.gradients, whole32.gradients), 2e-5) << size;
  }
}

TEST(Replay, OfOnePieceIsTheStepItselfToTheBit) {
  Recipe recipe = small_recipe();
  const Outcome whole = one_step(recipe, torch::kFloat32);
  recipe.micro_batch = kRows;
  const Outcome piece = one_step(recipe, torch::kFloat32);
  EXPECT_EQ(piece.result.loss, whole.result.loss);
  EXPECT_EQ(worst_error(piece.gradients, whole.gradients), 0);
  EXPECT_EQ(worst_error(piece.state, whole.state), 0);
}

// The pieces' embeddings joined by autograd, in one graph.
TEST(Replay, WithBatchNormEqualsOneGraphOfTheSamePieces) {
  Recipe recipe = small_recipe();
  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  model->to(torch::kFloat64);
  const torch::Tensor a = images(1, torch::kFloat64);
  const torch::Tensor b = a + 0.5 * images(2, torch::kFloat64);
  const auto embed = [&](const torch::Tensor& view) {
    std::vector<torch::Tensor> parts;
    for (int piece = 0; piece < 3; ++piece) {
      const data::Slice rows = data::rank_slice(kRows, piece, 3);
      parts.push_back(model->embed(view.narrow(0, rows.begin, rows.size())));
    }
    return torch::cat(parts);
  };
  const BarlowTwinsLoss loss =
      barlow_twins_loss(embed(a), embed(b), recipe.loss);
  loss.total.backward();
  NamedTensors expected;
  for (const auto& parameter : model->named_parameters()) {
    expected.emplace(parameter.key(), parameter.value().grad());
  }

  recipe.micro_batch = 8;  // three pieces of 8, 7 and 7
  const Outcome pieces = one_step(recipe, torch::kFloat64);
  EXPECT_NEAR(pieces.result.loss, loss.total.item<double>(), 1e-10);
  EXPECT_LT(worst_error(pieces.gradients, expected), 1e-10);
}

TEST(Replay, OverRanksEqualsOneRankWithTheSamePieces) {
  // Two ranks of 11 rows in pieces of 11 / 3: the pieces of a rank's rows are
  // not those of one process, so compare without batch statistics.
  Recipe recipe = small_recipe();
  const Outcome whole = one_step(recipe, torch::kFloat64, Norm::kFixed);
  recipe.micro_batch = 4;
  for (const int ranks : {2, 3}) {
    dist::run_local_ranks(ranks, [&](const dist::ProcessGroup& group) {
      const Outcome outcome =
          one_step(recipe, torch::kFloat64, Norm::kFixed, group);
      EXPECT_NEAR(outcome.result.loss, whole.result.loss, 1e-11);
      EXPECT_LT(worst_error(outcome.gradients, whole.gradients), 1e-10);
      // With batch norm the ranks go through their pieces together, also where
      // one has a row less, and stay equal.
      const Outcome norm =
          one_step(recipe, torch::kFloat64, Norm::kBatch, group);
      for (const auto& [name, tensor] : norm.state) {
        torch::Tensor sum = tensor.to(torch::kFloat64).contiguous().clone();
        group.all_reduce_sum_(sum);
        EXPECT_LT(test::relative_error(sum / group.size(), tensor), 1e-14);
      }
    });
  }
}

TEST(Replay, MovesRunningStatisticsOnceAView) {
  Recipe recipe = small_recipe();
  const Outcome whole = one_step(recipe, torch::kFloat64);
  recipe.micro_batch = 8;
  const Outcome pieces = one_step(recipe, torch::kFloat64);
  const std::string norm = "backbone.bn1.";
  EXPECT_EQ(
      pieces.state.at(norm + "num_batches_tracked").item<std::int64_t>(),
      2);  // a view each
  // Of the first layer, whose input is the batch itself: pieces of nearly equal
  // size have nearly the mean of the whole.
  EXPECT_LT(
      test::max_error(
          pieces.state.at(norm + "running_mean"),
          whole.state.at(norm + "running_mean")),
      5e-3);
  EXPECT_LT(
      test::relative_error(
          pieces.state.at(norm + "running_var"),
          whole.state.at(norm + "running_var")),
      5e-3);
}

TEST(Replay, NeedsTheMemoryOfAPieceWhateverTheBatch) {
  const auto peak_of = [](std::int64_t rows, std::int64_t micro_batch) {
    Recipe recipe = small_recipe();
    recipe.micro_batch = micro_batch;
    model::BarlowTwins model = make_model(recipe, torch::kCPU);
    const auto optimizer = make_optimizer(recipe, model);
    TrainingStep step(model, *optimizer, training_step_options(recipe));
    const torch::Tensor view =
        test::normal({rows, 1, 20, 20}, 1)
            .to(torch::kFloat32)
            .contiguous(torch::MemoryFormat::ChannelsLast);
    const MemoryUse use = measure_memory(
        [&] { static_cast<void>(step.run(view, view * 0.5, kNoRates)); });
    return use.peak_bytes;
  };
  const std::int64_t small = peak_of(16, 16);
  // Beside activations: embeddings, the loss's N x N or D x D, half a view.
  EXPECT_LT(peak_of(128, 16), small + small / 2);
  EXPECT_GT(peak_of(128, 0), 5 * small);
}

}  // namespace
}  // namespace barlow::train
