// SPDX-License-Identifier: MIT
//
// How TwoViewLoader works ahead, fails, ends and refuses.

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/data/loader.h"
#include "data/loader_support.h"
#include "data/synthetic_dataset.h"

namespace barlow::data {
namespace {

using test::small_options;
using test::SyntheticDataset;

TEST(TwoViewLoader, ThrowsTheFirstErrorInOrderAfterTheGoodBatches) {
  EpochSampler sampler(40, 4, 11, OnPartialBatch::kKeep);
  const auto fifth = sampler.batch(0, 5);
  const auto eighth = sampler.batch(0, 8);
  const SyntheticDataset dataset(
      {.size = 40, .broken = {eighth[0], fifth[3], fifth[1]}});
  const std::string expected = dataset.describe(fifth[1]) + ": broken";
  for (const int workers : {0, 1, 4}) {
    TwoViewLoaderOptions options = small_options();
    options.workers = workers;
    TwoViewLoader loader(dataset, options);
    for (int round = 0; round < 10; ++round) {
      loader.start(0);
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(loader.next().step, i);
      }
      EXPECT_EQ(test::error_of([&] { loader.next(); }), expected);
      EXPECT_EQ(test::error_of([&] { loader.next(); }), expected);
    }
  }
}

TEST(TwoViewLoader, EndsAtAnyMoment) {
  const SyntheticDataset dataset({.size = 40, .broken = {17}});
  for (int i = 0; i < 50; ++i) {
    TwoViewLoaderOptions options = small_options();
    options.workers = 1 + i % 4;
    TwoViewLoader loader(dataset, options);
    if (i % 5 == 0) {
      continue;  // never started
    }
    loader.start(0);
    try {
      for (int taken = 0; taken < i % 4; ++taken) {
        loader.next();
      }
    } catch (const Error&) {
      // image 17, which some of the rounds reach
    }
  }
}

TEST(TwoViewLoader, LoadsNoFurtherThanItsQueue) {
  const SyntheticDataset dataset({.size = 1000});
  TwoViewLoaderOptions options = small_options();
  options.workers = 3;
  options.queue_batches = 2;
  TwoViewLoader loader(dataset, options);
  EXPECT_EQ(dataset.loads(), 0);
  loader.start(0);
  for (std::int64_t taken = 0; taken < 4; ++taken) {
    const std::int64_t bound = (taken + 2) * 4;
    while (dataset.loads() < bound) {
      std::this_thread::yield();
    }
    // Time enough for a worker that does not know the bound.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(dataset.loads(), bound);
    loader.next();
  }
}

TEST(TwoViewLoader, WithoutWorkersMakesABatchWhenAsked) {
  const SyntheticDataset dataset({.size = 1000});
  TwoViewLoaderOptions options = small_options();
  options.workers = 0;
  TwoViewLoader loader(dataset, options);
  loader.start(0);
  EXPECT_EQ(dataset.loads(), 0);
  loader.next();
  EXPECT_EQ(dataset.loads(), 4);
  EXPECT_GT(loader.seconds_waiting(), 0);
}

TEST(TwoViewLoader, RefusesToGoOnUnstarted) {
  const SyntheticDataset dataset({.size = 10});
  TwoViewLoader loader(dataset, small_options());
  EXPECT_THROW(loader.next(), std::logic_error);
  EXPECT_THROW(loader.start(-1), std::invalid_argument);
}

TEST(TwoViewLoader, RefusesWrongOptionsByName) {
  const SyntheticDataset dataset({.size = 10});
  const auto refusal = [&](const auto& change) {
    TwoViewLoaderOptions options = small_options();
    change(options);
    const auto message =
        test::error_of([&] { const TwoViewLoader loader(dataset, options); });
    return message.value_or("");
  };
  using Options = TwoViewLoaderOptions;
  const auto starts = [](const std::string& text, const std::string& start) {
    return text.starts_with(start) ? "" : "not " + start + ": " + text;
  };
  EXPECT_EQ(refusal([](Options&) {}), "");
  EXPECT_EQ(
      starts(refusal([](Options& o) { o.channels = 2; }), "channels is 2"),
      "");
  EXPECT_EQ(
      starts(refusal([](Options& o) { o.workers = -1; }), "workers is -1"),
      "");
  EXPECT_EQ(
      starts(
          refusal([](Options& o) { o.queue_batches = 0; }),
          "queue_batches is"),
      "");
  EXPECT_EQ(starts(refusal([](Options& o) { o.rank = 1; }), "rank is 1"), "");
  EXPECT_EQ(
      starts(refusal([](Options& o) { o.world_size = 0; }), "world_size is 0"),
      "");
  EXPECT_EQ(
      starts(
          refusal([](Options& o) { o.normalization.stddev[2] = 0; }),
          "normalization.stddev is 0"),
      "");
  EXPECT_EQ(
      starts(refusal([](Options& o) { o.view_b.hue = 0.7; }), "view_b.hue is"),
      "");
  EXPECT_EQ(
      starts(
          refusal([](Options& o) { o.global_batch_size = 1; }),
          "batch size is 1"),
      "");
}

}  // namespace
}  // namespace barlow::data
