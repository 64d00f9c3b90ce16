// SPDX-License-Identifier: MIT

#include "barlow/loss/planner.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace barlow {
namespace {

LossShape single_process(std::int64_t samples, std::int64_t features) {
  return {.samples = samples, .features = features, .rows_per_rank = samples};
}

TEST(LossPlanner, ChoosesSampleSpaceForBatchesSmallerThanTheEmbedding) {
  EXPECT_EQ(
      plan_loss_path(single_process(256, 8192)).path,
      LossPath::kSampleSpace);
  EXPECT_EQ(
      plan_loss_path(single_process(2048, 8192)).path,
      LossPath::kSampleSpace);
  EXPECT_EQ(
      plan_loss_path(single_process(512, 128)).path,
      LossPath::kFeatureSpace);
  EXPECT_EQ(plan_loss_path(single_process(2, 1)).path, LossPath::kFeatureSpace);
}

TEST(LossPlanner, ChangesPathsInASingleProcessAtTheBoundOfAccuracy) {
  // planner.h: the times cross above it.
  for (const std::int64_t features : {512, 1024, 2048, 8192}) {
    const auto path = [&](double ratio, std::int64_t gradients) {
      LossShape shape = single_process(
          static_cast<std::int64_t>(ratio * static_cast<double>(features)),
          features);
      shape.views_with_gradient = gradients;
      return plan_loss_path(shape).path;
    };
    for (const std::int64_t gradients : {0, 2}) {
      EXPECT_EQ(path(0.6, gradients), LossPath::kSampleSpace);
      EXPECT_EQ(path(0.75, gradients), LossPath::kSampleSpace);
      EXPECT_EQ(path(0.82, gradients), LossPath::kFeatureSpace);
    }
  }
}

TEST(LossPlanner, ComparesTheFlopsOfTheDesign) {
  const double n = 128;
  const double all = 512;
  const double d = 2048;
  const LossPlan plan = plan_loss_path(
      {.samples = 512, .features = 2048, .ranks = 4, .rows_per_rank = 128});
  EXPECT_EQ(plan.feature_space.flops, 6 * n * d * d);
  EXPECT_EQ(plan.sample_space.flops, 8 * n * all * d);
  const LossPlan value = plan_loss_path(
      {.samples = 512,
       .features = 2048,
       .ranks = 4,
       .rows_per_rank = 128,
       .views_with_gradient = 0});
  EXPECT_EQ(value.feature_space.flops, 2 * n * d * d);
  EXPECT_EQ(value.sample_space.flops, 4 * n * all * d);
  // Half of the Gram matrices.
  const LossPlan alone = plan_loss_path(single_process(512, 2048));
  EXPECT_EQ(alone.sample_space.flops, 6 * all * all * d);
}

TEST(LossPlanner, SendsAQuarterAtThePapersSetting) {
  const LossPlan plan = plan_loss_path(
      {.samples = 2048, .features = 8192, .ranks = 32, .rows_per_rank = 64});
  // 2 N D gathered against 2 D^2 sent of the all-reduced D^2: N / D = 1 / 4,
  // but for the statistics that both send.
  EXPECT_NEAR(
      plan.sample_space.communicated_bytes /
          plan.feature_space.communicated_bytes,
      0.25,
      0.01);
  EXPECT_EQ(plan.path, LossPath::kSampleSpace);
}

TEST(LossPlanner, SendsAQuarterAlsoOnFourRanks) {
  // AnySplit's tests hold these counts against the messages that are sent.
  const LossPlan plan = plan_loss_path(
      {.samples = 2048, .features = 8192, .ranks = 4, .rows_per_rank = 512});
  EXPECT_GT(plan.sample_space.communicated_bytes, 0);
  EXPECT_LE(
      plan.sample_space.communicated_bytes,
      0.26 * plan.feature_space.communicated_bytes);
}

TEST(LossPlanner, NeedsNoCommunicationInASingleProcess) {
  const LossPlan plan = plan_loss_path(single_process(100, 200));
  EXPECT_EQ(plan.feature_space.communicated_bytes, 0);
  EXPECT_EQ(plan.sample_space.communicated_bytes, 0);
}

TEST(LossPlanner, NeverChoosesSampleSpaceWhereItWouldLoseDigits) {
  // Slow links and many ranks favour whatever sends less; N near D does not.
  for (const std::int64_t ranks : {1, 8, 1000}) {
    for (const std::int64_t samples : {1000, 820, 2000}) {
      EXPECT_EQ(
          plan_loss_path({.samples = samples,
                          .features = 1000,
                          .ranks = ranks,
                          .rows_per_rank = (samples + ranks - 1) / ranks})
              .path,
          LossPath::kFeatureSpace);
    }
  }
}

TEST(LossPlanner, ObeysARequest) {
  const LossShape shape = single_process(16, 4096);
  EXPECT_EQ(
      plan_loss_path(shape, LossPath::kFeatureSpace).path,
      LossPath::kFeatureSpace);
  EXPECT_EQ(
      plan_loss_path(single_process(900, 10), LossPath::kSampleSpace).path,
      LossPath::kSampleSpace);
}

TEST(LossPlanner, ComputesInFloat64WhereItIsDelicateOrFree) {
  const auto type = [](LossShape shape) {
    return plan_loss_path(shape).compute_type;
  };
  EXPECT_EQ(type(single_process(2, 1 << 20)), torch::kFloat64);
  EXPECT_EQ(type(single_process(64, 128)), torch::kFloat64);
  // Not by its cost, over 2^26 flop.
  EXPECT_EQ(
      plan_loss_path(single_process(3, 8192), LossPath::kFeatureSpace)
          .compute_type,
      torch::kFloat64);
  EXPECT_EQ(type(single_process(256, 2048)), torch::kFloat32);
  LossShape wide = single_process(256, 2048);
  wide.input_type = torch::kFloat64;
  EXPECT_EQ(type(wide), torch::kFloat64);
  // A property of the global batch: the ranks' messages must have one type.
  EXPECT_EQ(
      type(
          {.samples = 256, .features = 2048, .ranks = 256, .rows_per_rank = 1}),
      torch::kFloat32);
}

TEST(LossPlanner, RefusesImpossibleShapes) {
  const auto refuses = [](const LossShape& shape) {
    EXPECT_THROW(static_cast<void>(plan_loss_path(shape)), c10::ValueError);
  };
  refuses({.samples = 0, .features = 1, .rows_per_rank = 0});
  refuses({.samples = 4, .features = 0, .rows_per_rank = 4});
  refuses({.samples = 4, .features = 1, .ranks = 0, .rows_per_rank = 4});
  refuses({.samples = 4, .features = 1, .rows_per_rank = 5});
  refuses({.samples = 4, .features = 1, .ranks = 2, .rows_per_rank = 1});
  refuses(
      {.samples = 4,
       .features = 1,
       .rows_per_rank = 4,
       .views_with_gradient = 3});
}

}  // namespace
}  // namespace barlow
