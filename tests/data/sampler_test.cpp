// SPDX-License-Identifier: MIT

#include "barlow/data/sampler.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/core/random.h"

namespace barlow::data {
namespace {

using Order = std::vector<std::int64_t>;

Order epoch_order(EpochSampler& sampler, std::int64_t epoch) {
  Order order;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const Order batch = sampler.batch(epoch, step);
    order.insert(order.end(), batch.begin(), batch.end());
  }
  return order;
}

TEST(EpochSampler, WithKeepGivesEachImageExactlyOnce) {
  for (std::int64_t size = 2; size <= 30; ++size) {
    for (std::int64_t batch = 2; batch <= size + 3; ++batch) {
      if (size % batch == 1) {
        continue;  // the lone image: below
      }
      EpochSampler sampler(size, batch, 7, OnPartialBatch::kKeep);
      Order order = epoch_order(sampler, 3);
      std::sort(order.begin(), order.end());
      Order all(static_cast<std::size_t>(size));
      std::iota(all.begin(), all.end(), std::int64_t{0});
      EXPECT_EQ(order, all) << size << " in batches of " << batch;
    }
  }
}

TEST(EpochSampler, WithDropGivesFullBatchesAndNoImageTwice) {
  for (std::int64_t size = 2; size <= 30; ++size) {
    for (std::int64_t batch = 2; batch <= size; ++batch) {
      EpochSampler sampler(size, batch, 7, OnPartialBatch::kDrop);
      EXPECT_EQ(sampler.steps_per_epoch(), size / batch);
      const Order order = epoch_order(sampler, 0);
      EXPECT_EQ(std::ssize(order), size / batch * batch);
      EXPECT_EQ(std::set(order.begin(), order.end()).size(), order.size());
    }
  }
}

TEST(EpochSampler, NeverMakesABatchOfOneImage) {
  EpochSampler sampler(9, 4, 7, OnPartialBatch::kKeep);
  EXPECT_EQ(sampler.steps_per_epoch(), 2);
  EXPECT_EQ(epoch_order(sampler, 0).size(), 8U);
  // It is another image each epoch: over 60 epochs every image comes up; one
  // of 9 would be left out of all with probability 9^-60.
  std::set<std::int64_t> seen;
  for (std::int64_t epoch = 0; epoch < 60; ++epoch) {
    const Order order = epoch_order(sampler, epoch);
    seen.insert(order.begin(), order.end());
  }
  EXPECT_EQ(seen.size(), 9U);
}

TEST(EpochSampler, LastBatchWithKeepHasTheRest) {
  EpochSampler sampler(11, 4, 7, OnPartialBatch::kKeep);
  ASSERT_EQ(sampler.steps_per_epoch(), 3);
  EXPECT_EQ(sampler.batch(0, 1).size(), 4U);
  EXPECT_EQ(sampler.batch(0, 2).size(), 3U);
}

TEST(EpochSampler, CutsThePermutationOfSeedAndEpoch) {
  RandomStream stream(
      {.seed = 5, .purpose = StreamPurpose::kEpochOrder, .epoch = 2});
  const Order order = stream.permutation(20);
  EpochSampler sampler(20, 6, 5, OnPartialBatch::kKeep);
  EXPECT_EQ(sampler.batch(2, 1), Order(order.begin() + 6, order.begin() + 12));
  EXPECT_EQ(sampler.batch(2, 3), Order(order.begin() + 18, order.end()));
}

TEST(EpochSampler, DoesNotDependOnTheCallsBefore) {
  EpochSampler walked(50, 8, 1, OnPartialBatch::kDrop);
  epoch_order(walked, 0);
  epoch_order(walked, 1);
  const Order again = walked.batch(0, 4);
  EpochSampler fresh(50, 8, 1, OnPartialBatch::kDrop);
  EXPECT_EQ(fresh.batch(0, 4), again);
}

TEST(EpochSampler, EpochsAndSeedsHaveOrdersOfTheirOwn) {
  EpochSampler one(100, 10, 1, OnPartialBatch::kDrop);
  EpochSampler two(100, 10, 2, OnPartialBatch::kDrop);
  EXPECT_NE(epoch_order(one, 0), epoch_order(one, 1));
  EXPECT_NE(epoch_order(one, 0), epoch_order(two, 0));
}

std::string
refusal(std::int64_t size, std::int64_t batch, OnPartialBatch partial) {
  try {
    const EpochSampler sampler(size, batch, 0, partial);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(EpochSampler, RefusesImpossibleBatchesByNumber) {
  const std::string large = refusal(300, 512, OnPartialBatch::kDrop);
  EXPECT_NE(large.find("512"), std::string::npos) << large;
  EXPECT_NE(large.find("300"), std::string::npos) << large;
  EXPECT_EQ(refusal(300, 512, OnPartialBatch::kKeep), "");
  EXPECT_EQ(refusal(300, 300, OnPartialBatch::kDrop), "");
  EXPECT_NE(refusal(300, 1, OnPartialBatch::kKeep), "");
  EXPECT_NE(refusal(300, 0, OnPartialBatch::kDrop), "");
  EXPECT_NE(refusal(300, -8, OnPartialBatch::kDrop), "");
  EXPECT_NE(refusal(1, 2, OnPartialBatch::kKeep), "");
}

TEST(EpochSampler, RefusesStepsAndEpochsThatAreNotThere) {
  EpochSampler sampler(10, 5, 0, OnPartialBatch::kDrop);
  EXPECT_THROW(sampler.batch(0, 2), std::out_of_range);
  EXPECT_THROW(sampler.batch(0, -1), std::out_of_range);
  EXPECT_THROW(sampler.batch(-1, 0), std::out_of_range);
  EXPECT_THROW(sampler.batch(std::int64_t{1} << 32, 0), std::out_of_range);
}

TEST(RankSlice, DividesAnyCountAmongAnyRanks) {
  for (std::int64_t count = 0; count <= 40; ++count) {
    for (int world = 1; world <= 7; ++world) {
      std::int64_t end = 0;
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      std::int64_t most = 0;
      for (int rank = 0; rank < world; ++rank) {
        const Slice slice = rank_slice(count, rank, world);
        EXPECT_EQ(slice.begin, end) << count << ' ' << rank << ' ' << world;
        EXPECT_GE(slice.size(), 0);
        end = slice.end;
        least = std::min(least, slice.size());
        most = std::max(most, slice.size());
      }
      EXPECT_EQ(end, count);
      EXPECT_LE(most - least, 1) << count << " among " << world;
    }
  }
}

TEST(RankSlice, RefusesRanksThatAreNotThere) {
  EXPECT_THROW(static_cast<void>(rank_slice(4, 2, 2)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rank_slice(4, -1, 2)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rank_slice(4, 0, 0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rank_slice(-1, 0, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace barlow::data
