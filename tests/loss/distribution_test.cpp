// SPDX-License-Identifier: MIT
//
// The loss over ranks that are threads: the same function for any split.

#include <sstream>

#include <gtest/gtest.h>

#include "loss/both_paths.h"
#include "loss/reference.h"
#include "support/tensors.h"
#include "support/thread_group.h"

namespace barlow {
namespace {

using test::barlow_loss;
using test::gradient_error;
using test::LossAndGradients;
using test::relative_error;
using test::run_ranks;
using test::Traffic;
using test::Views;

struct Split {
  LossPath path;
  std::vector<std::int64_t> rows;  // of each rank
};

Views rows_of(const Views& views, std::int64_t first, std::int64_t rows) {
  return {views.a.narrow(0, first, rows), views.b.narrow(0, first, rows)};
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) {
    total += value;
  }
  return total;
}

struct DistributedResult {
  std::vector<LossAndGradients> ranks;
  Views gradients;  // all ranks' rows below each other
  Traffic traffic;
};

DistributedResult distributed_loss(
    const Views& views,
    const Split& split,
    BarlowTwinsLossOptions options = {}) {
  options.path = split.path;
  DistributedResult result;
  result.ranks.resize(split.rows.size());
  result.traffic = run_ranks(
      static_cast<int>(split.rows.size()),
      [&](const dist::ProcessGroup& g) {
        const auto rank = static_cast<std::size_t>(g.rank());
        std::int64_t first = 0;
        for (std::size_t before = 0; before < rank; ++before) {
          first += split.rows[before];
        }
        result.ranks[rank] =
            barlow_loss(rows_of(views, first, split.rows[rank]), options, g);
      });
  std::vector<torch::Tensor> a;
  std::vector<torch::Tensor> b;
  for (const LossAndGradients& rank : result.ranks) {
    a.push_back(rank.gradients.a);
    b.push_back(rank.gradients.b);
  }
  result.gradients = {torch::cat(a), torch::cat(b)};
  return result;
}

class AnySplit : public testing::TestWithParam<Split> {};

INSTANTIATE_TEST_SUITE_P(
    Splits,
    AnySplit,
    testing::Values(
        Split{LossPath::kFeatureSpace, {6, 6}},
        Split{LossPath::kFeatureSpace, {9, 3}},
        Split{LossPath::kFeatureSpace, {5, 0, 7}},
        Split{LossPath::kFeatureSpace, {1, 1}},
        Split{LossPath::kFeatureSpace, {4, 1, 0, 7}},
        Split{LossPath::kSampleSpace, {6, 6}},
        Split{LossPath::kSampleSpace, {9, 3}},
        Split{LossPath::kSampleSpace, {5, 0, 7}},
        Split{LossPath::kSampleSpace, {1, 1}},
        Split{LossPath::kSampleSpace, {4, 1, 0, 7}},
        Split{LossPath::kAuto, {0, 5, 6}}),
    [](const auto& split) {
      std::ostringstream name;
      name
          << (split.param.path == LossPath::kAuto           ? "Auto"
              : split.param.path == LossPath::kFeatureSpace ? "Feature"
                                                            : "Sample");
      for (const std::int64_t rows : split.param.rows) {
        name << "_" << rows;
      }
      return name.str();
    });

TEST_P(AnySplit, EqualsTheSingleProcessLossAndGradient) {
  const auto ranks = static_cast<double>(GetParam().rows.size());
  const Views views = test::correlated_views(sum(GetParam().rows), 14, 1);
  const LossAndGradients expected = barlow_loss(views);
  const DistributedResult actual = distributed_loss(views, GetParam());
  for (const LossAndGradients& rank : actual.ranks) {
    EXPECT_LT(relative_error(rank.total, expected.total), 1e-12);
    EXPECT_LT(relative_error(rank.invariance, expected.invariance), 1e-12);
    EXPECT_LT(relative_error(rank.redundancy, expected.redundancy), 1e-12);
    EXPECT_TRUE(torch::equal(rank.total, actual.ranks[0].total));
  }
  // W times each rank's part. The tolerance allows N = 2, where the gradient
  // is 1e-5 of the terms whose difference it is.
  EXPECT_LT(
      gradient_error(
          actual.gradients,
          {expected.gradients.a * ranks, expected.gradients.b * ranks}),
      1e-10);
}

TEST_P(AnySplit, GivesTheAveragedParametersOneGlobalGradient) {
  // One weight matrix shared by both views and all ranks.
  const Views inputs = test::correlated_views(sum(GetParam().rows), 6, 2);
  const torch::Tensor weight = test::normal({6, 9}, 3);
  const auto gradient = [&](const Views& x, const dist::ProcessGroup& group) {
    const torch::Tensor leaf = weight.clone().set_requires_grad(true);
    barlow_twins_loss(
        torch::mm(x.a, leaf),
        torch::mm(x.b, leaf),
        {.path = GetParam().path},
        group)
        .total.backward();
    return leaf.grad();
  };
  const torch::Tensor expected = gradient(inputs, {});
  const auto ranks = static_cast<int>(GetParam().rows.size());
  run_ranks(ranks, [&](const dist::ProcessGroup& group) {
    std::int64_t first = 0;
    for (int before = 0; before < group.rank(); ++before) {
      first += GetParam().rows[static_cast<std::size_t>(before)];
    }
    const std::int64_t rows =
        GetParam().rows[static_cast<std::size_t>(group.rank())];
    torch::Tensor mean = gradient(rows_of(inputs, first, rows), group);
    group.all_reduce_sum_(mean);
    mean /= ranks;
    EXPECT_LT(relative_error(mean, expected), 1e-9);
  });
}

TEST(DistributedLoss, InFloat32IsAsAccurateAsASingleProcess) {
  // Above 2^26 flop, so that products are float32.
  Views views = test::correlated_views(210, 400, 4);
  views = {views.a.to(torch::kFloat32), views.b.to(torch::kFloat32)};
  const LossAndGradients expected = test::reference_loss(views);
  for (const LossPath path :
       {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
    const DistributedResult actual =
        distributed_loss(views, {path, {120, 0, 90}});
    EXPECT_LT(relative_error(actual.ranks[0].total, expected.total), 1e-6);
    EXPECT_LT(
        gradient_error(
            actual.gradients,
            {expected.gradients.a * 3, expected.gradients.b * 3}),
        1e-6);
  }
}

// Rounding happens before the exchange or after, but to the same numbers.
TEST(DistributedLoss, WithRoundedProductsIsThatOfASingleProcess) {
  Views views = test::correlated_views(210, 400, 6);
  views = {views.a.to(torch::kFloat32), views.b.to(torch::kFloat32)};
  const LossAndGradients expected = test::reference_loss(views);
  for (const LossPath path :
       {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
    const DistributedResult actual = distributed_loss(
        views,
        {path, {120, 0, 90}},
        {.product_type = torch::kBFloat16});
    EXPECT_LT(relative_error(actual.ranks[0].total, expected.total), 2e-4);
    EXPECT_LT(
        gradient_error(
            actual.gradients,
            {expected.gradients.a * 3, expected.gradients.b * 3}),
        5e-3);
  }
}

TEST(DistributedLoss, EmulatesThePublishedGradientOfUnreducedCorrelations) {
  const Views views = test::correlated_views(12, 5, 5);
  const LossAndGradients expected = barlow_loss(views);
  const DistributedResult actual = distributed_loss(
      views,
      {LossPath::kFeatureSpace, {4, 8}},
      {.emulate_world_size = 2});
  // W / V = 1: each rank's part, as without the factor of the all-reduce.
  EXPECT_LT(gradient_error(actual.gradients, expected.gradients), 1e-10);
}

TEST(DistributedLoss, RefusesAGlobalBatchOfOneOnEveryRank) {
  run_ranks(3, [](const dist::ProcessGroup& group) {
    const torch::Tensor z = torch::ones({group.rank() == 1 ? 1 : 0, 4});
    EXPECT_THROW(
        static_cast<void>(barlow_twins_loss(z, z, {}, group)),
        c10::ValueError);
  });
}

TEST(DistributedLoss, CommunicatesNothingInTheBackwardPass) {
  // Both ranks differentiate; only rank 0 runs its backward pass.
  run_ranks(2, [](const dist::ProcessGroup& group) {
    const torch::Tensor z = test::normal({3, 4}, 6).set_requires_grad(true);
    const BarlowTwinsLoss loss = barlow_twins_loss(z, z, {}, group);
    if (group.rank() == 0) {
      loss.total.backward();
      EXPECT_TRUE(z.grad().defined());
    }
  });
}

class Communication : public test::BothPaths {};

INSTANTIATE_TEST_SUITE_P(
    Path,
    Communication,
    test::both_paths(),
    test::path_name);

TEST_P(Communication, IsWhatThePlanSays) {
  const std::vector<std::int64_t> rows{5, 2, 4};
  const std::int64_t features = 7;
  const DistributedResult actual = distributed_loss(
      test::correlated_views(11, features, 7),
      {GetParam(), rows});
  const LossPlan plan = plan_loss_path(
      {.samples = 11,
       .features = features,
       .ranks = 3,
       .rows_per_rank = 5,
       .input_type = torch::kFloat64},
      GetParam());
  const double share = 2.0 / 3.0;
  const double sent =
      share * (2 * static_cast<double>(actual.traffic.all_reduced_bytes) +
               static_cast<double>(actual.traffic.gathered_bytes));
  const LossPathCost& cost = GetParam() == LossPath::kFeatureSpace
                                 ? plan.feature_space
                                 : plan.sample_space;
  EXPECT_NEAR(sent, cost.communicated_bytes, 1e-6);

  // The same by hand: counts, means, moments; then the path's own.
  const std::int64_t shared = 8 * (3 + 5 * features);
  if (GetParam() == LossPath::kFeatureSpace) {
    EXPECT_EQ(
        actual.traffic.all_reduced_bytes,
        shared + 8 * features * features);
    EXPECT_EQ(actual.traffic.gathered_bytes, 0);
  } else {
    EXPECT_EQ(
        actual.traffic.all_reduced_bytes,
        shared + 8 * (1 + 2 * features));
    EXPECT_EQ(actual.traffic.gathered_bytes, 8 * 2 * 11 * features);
  }
}

}  // namespace
}  // namespace barlow
