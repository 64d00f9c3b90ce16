// SPDX-License-Identifier: MIT

#include "barlow/eval/accuracy.h"

#include <gtest/gtest.h>

namespace barlow::eval {
namespace {

torch::Tensor labels(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

TEST(LabelRanks, CountsTheClassesBeforeTheLabel) {
  const torch::Tensor scores =
      torch::tensor({{0.1, 0.7, 0.2}, {0.1, 0.7, 0.2}, {0.1, 0.7, 0.2}});
  EXPECT_TRUE(
      torch::equal(label_ranks(scores, labels({1, 2, 0})), labels({0, 1, 2})));
}

TEST(LabelRanks, PutsTheLowerOfEqualClassesFirst) {
  const torch::Tensor scores = torch::ones({3, 3});
  EXPECT_TRUE(
      torch::equal(label_ranks(scores, labels({0, 1, 2})), labels({0, 1, 2})));
}

TEST(LabelRanks, NeverHitsAClassThatHasNoScore) {
  EXPECT_TRUE(
      torch::equal(label_ranks(torch::ones({1, 3}), labels({3})), labels({3})));
}

TEST(AccuracyOfRanks, CountsHitsAndHasTop5ForMoreThanFiveClasses) {
  const torch::Tensor ranks = labels({0, 4, 5, 0});
  const Accuracy accuracy = accuracy_of_ranks(ranks, 6);
  EXPECT_EQ(accuracy.top1, 0.5);
  ASSERT_TRUE(accuracy.top5.has_value());
  EXPECT_EQ(*accuracy.top5, 0.75);
  EXPECT_FALSE(accuracy_of_ranks(ranks, 5).top5.has_value());
}

TEST(AccuracyOfRanks, RefusesAnEmptySet) {
  EXPECT_THROW((void)accuracy_of_ranks(labels({}), 3), c10::ValueError);
}

}  // namespace
}  // namespace barlow::eval
