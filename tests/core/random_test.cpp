// SPDX-License-Identifier: MIT

#include "barlow/core/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

namespace barlow {
namespace {

// The known-answer vectors published with the paper's library (Random123,
// kat_vectors, philox 4x32, 10 rounds): zeros, ones, digits of pi.
TEST(Philox4x32, EqualsThePublishedVectors) {
  EXPECT_EQ(
      philox4x32({0, 0, 0, 0}, {0, 0}),
      (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(
      philox4x32(
          {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
          {0xffffffff, 0xffffffff}),
      (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      philox4x32(
          {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
          {0xa4093822, 0x299f31d0}),
      (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, IsAFunctionOfItsKey) {
  const StreamKey key{.seed = 7, .epoch = 3, .image = 11, .view = 1};
  RandomStream a(key);
  RandomStream b(key);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.next_u32(), b.next_u32());
  }
}

TEST(RandomStream, EachPartOfTheKeyNamesAnotherStream) {
  const std::vector<StreamKey> keys{
      {.seed = 1},
      {.seed = std::uint64_t{1} << 32},
      {.seed = 1, .purpose = StreamPurpose::kEpochOrder},
      {.seed = 1, .epoch = 1},
      {.seed = 1, .image = 1},
      {.seed = 1, .image = std::uint64_t{1} << 32},
      {.seed = 1, .view = 1}};
  std::set<std::uint64_t> first;
  for (const StreamKey& key : keys) {
    first.insert(RandomStream(key).next_u64());
  }
  EXPECT_EQ(first.size(), keys.size());
}

TEST(RandomStream, RefusesKeysThatWouldShareAStream) {
  EXPECT_THROW(
      RandomStream({.epoch = std::uint64_t{1} << 32}),
      std::out_of_range);
  EXPECT_THROW(
      RandomStream({.image = std::uint64_t{1} << 48}),
      std::out_of_range);
}

// Bounds below are 5 standard errors for these 100000 draws; the draws are
// fixed, so the tests cannot flake.
TEST(RandomStream, UniformHasTheMomentsOfTheUniformDistribution) {
  RandomStream stream({.seed = 5});
  double sum = 0;
  double squares = 0;
  const int draws = 100000;
  for (int i = 0; i < draws; ++i) {
    const double x = stream.uniform();
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(squares / draws, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / draws));
}

TEST(RandomStream, NormalHasTheMomentsOfTheNormalDistribution) {
  RandomStream stream({.seed = 6});
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  const int draws = 100000;
  for (int i = 0; i < draws; ++i) {
    const double x = stream.normal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  EXPECT_NEAR(sum / draws, 0.0, 5 * std::sqrt(1.0 / draws));
  EXPECT_NEAR(squares / draws, 1.0, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(fourths / draws, 3.0, 5 * std::sqrt(96.0 / draws));
}

TEST(RandomStream, IntegerIsUniformOverItsRange) {
  RandomStream stream({.seed = 8});
  std::vector<int> counts(7);
  const int draws = 70000;
  for (int i = 0; i < draws; ++i) {
    ++counts[static_cast<std::size_t>(stream.integer(7))];
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, draws / 7, 5 * std::sqrt(draws / 7.0));
  }
  EXPECT_EQ(stream.integer(1), 0U);
  EXPECT_THROW(stream.integer(0), std::out_of_range);
}

TEST(RandomStream, PermutationHoldsEachNumberOnce) {
  RandomStream stream({.seed = 9});
  std::vector<std::int64_t> order = stream.permutation(1000);
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  EXPECT_TRUE(stream.permutation(0).empty());
}

TEST(RandomStream, PermutationsOfThreeAreEquallyLikely) {
  RandomStream stream({.seed = 10});
  std::map<std::vector<std::int64_t>, int> counts;
  for (int i = 0; i < 60000; ++i) {
    ++counts[stream.permutation(3)];
  }
  ASSERT_EQ(counts.size(), 6U);
  for (const auto& [order, count] : counts) {
    EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000.0));
  }
}

}  // namespace
}  // namespace barlow
