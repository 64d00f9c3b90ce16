// SPDX-License-Identifier: MIT
//
// What is in the batches of TwoViewLoader.

#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/random.h"
#include "barlow/data/loader.h"
#include "data/loader_support.h"
#include "data/synthetic_dataset.h"

namespace barlow::data {
namespace {

using test::small_options;
using test::SyntheticDataset;

std::vector<TwoViewBatch> take(
    const Dataset& dataset,
    const TwoViewLoaderOptions& options,
    std::int64_t first,
    std::int64_t count) {
  TwoViewLoader loader(dataset, options);
  loader.start(first);
  std::vector<TwoViewBatch> batches;
  for (std::int64_t i = 0; i < count; ++i) {
    batches.push_back(loader.next());
  }
  return batches;
}

void expect_same(const TwoViewBatch& actual, const TwoViewBatch& expected) {
  EXPECT_EQ(actual.step, expected.step);
  EXPECT_EQ(actual.epoch, expected.epoch);
  EXPECT_EQ(actual.images, expected.images);
  EXPECT_TRUE(test::same_bytes(actual.view_a, expected.view_a))
      << "step " << expected.step;
  EXPECT_TRUE(test::same_bytes(actual.view_b, expected.view_b))
      << "step " << expected.step;
}

void expect_same(
    const std::vector<TwoViewBatch>& actual,
    const std::vector<TwoViewBatch>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    expect_same(actual[i], expected[i]);
  }
}

TEST(TwoViewLoader, SameBytesForAnyWorkersAndQueue) {
  const SyntheticDataset dataset({.size = 15});
  TwoViewLoaderOptions options = small_options();
  options.workers = 0;
  const auto expected = take(dataset, options, 0, 10);
  for (const int workers : {1, 4}) {
    for (const int queue_batches : {1, 3}) {
      options.workers = workers;
      options.queue_batches = queue_batches;
      expect_same(take(dataset, options, 0, 10), expected);
    }
  }
}

TEST(TwoViewLoader, RanksTogetherHaveTheBatchOfASingleProcess) {
  // 11 = 4 + 4 + 3: no world size of 2 to 4 divides all, and with four ranks
  // the last one has nothing in the batch of three.
  const SyntheticDataset dataset({.size = 11});
  TwoViewLoaderOptions options = small_options();
  const auto expected = take(dataset, options, 0, 6);
  for (int world = 1; world <= 4; ++world) {
    options.world_size = world;
    std::vector<TwoViewBatch> joined(6);
    for (options.rank = 0; options.rank < world; ++options.rank) {
      const auto part = take(dataset, options, 0, 6);
      for (std::size_t i = 0; i < part.size(); ++i) {
        TwoViewBatch& whole = joined[i];
        const TwoViewBatch& slice = part[i];
        ASSERT_EQ(slice.view_a.size(0), std::ssize(slice.images));
        whole.step = slice.step;
        whole.epoch = slice.epoch;
        whole.images.insert(
            whole.images.end(),
            slice.images.begin(),
            slice.images.end());
        const bool first = !whole.view_a.defined();
        whole.view_a =
            first ? slice.view_a : torch::cat({whole.view_a, slice.view_a});
        whole.view_b =
            first ? slice.view_b : torch::cat({whole.view_b, slice.view_b});
      }
    }
    expect_same(joined, expected);
  }
}

TEST(TwoViewLoader, StartedAtAnyStepContinuesTheStream) {
  const SyntheticDataset dataset({.size = 11});
  const auto whole = take(dataset, small_options(), 0, 9);
  for (std::size_t first = 0; first < whole.size(); ++first) {
    const std::vector<TwoViewBatch> rest(
        whole.begin() + static_cast<std::ptrdiff_t>(first),
        whole.end());
    expect_same(
        take(
            dataset,
            small_options(),
            static_cast<std::int64_t>(first),
            std::ssize(rest)),
        rest);
  }
}

TEST(TwoViewLoader, StartAgainThrowsAwayWhatWasMade) {
  const SyntheticDataset dataset({.size = 11});
  const auto expected = take(dataset, small_options(), 0, 6);
  TwoViewLoader loader(dataset, small_options());
  loader.start(3);
  expect_same(loader.next(), expected[3]);
  loader.start(1);
  EXPECT_EQ(loader.seconds_waiting(), 0);
  expect_same(loader.next(), expected[1]);
}

TEST(TwoViewLoader, CountsStepsAndEpochs) {
  const SyntheticDataset dataset({.size = 11});
  const TwoViewLoader loader(dataset, small_options());
  EXPECT_EQ(loader.steps_per_epoch(), 3);
  EpochSampler sampler(11, 4, 11, OnPartialBatch::kKeep);
  const auto batches = take(dataset, small_options(), 2, 5);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const TwoViewBatch& batch = batches[i];
    EXPECT_EQ(batch.step, static_cast<std::int64_t>(i) + 2);
    EXPECT_EQ(batch.epoch, batch.step / 3);
    EXPECT_EQ(batch.images, sampler.batch(batch.epoch, batch.step % 3));
  }
}

TEST(TwoViewLoader, DropsOrKeepsThePartialBatch) {
  const SyntheticDataset dataset({.size = 11});
  TwoViewLoaderOptions options = small_options();
  EXPECT_EQ(take(dataset, options, 2, 1)[0].view_a.size(0), 3);
  options.on_partial_batch = OnPartialBatch::kDrop;
  const auto batches = take(dataset, options, 1, 2);
  EXPECT_EQ(batches[1].epoch, 1);
  EXPECT_EQ(batches[1].view_a.size(0), 4);
}

TEST(TwoViewLoader, MakesEachRowFromItsOwnStream) {
  const SyntheticDataset dataset({.size = 11});
  const TwoViewLoaderOptions options = small_options();
  const auto row = [&](std::int64_t image_index,
                       std::uint64_t epoch,
                       std::uint8_t view) {
    const ViewOptions& how = view == 0 ? options.view_a : options.view_b;
    const Image image = dataset.load(image_index);
    RandomStream stream(
        {.seed = options.seed,
         .purpose = StreamPurpose::kAugmentation,
         .epoch = epoch,
         .image = static_cast<std::uint64_t>(image_index),
         .view = view});
    const ViewDraws draws = draw_view(how, image.width, image.height, stream);
    torch::Tensor result = torch::empty({3, how.size, how.size});
    normalize_into(
        augment(image, how, draws),
        options.normalization,
        result.data_ptr<float>());
    return result;
  };
  for (const TwoViewBatch& batch : take(dataset, options, 0, 6)) {
    const auto epoch = static_cast<std::uint64_t>(batch.epoch);
    for (std::size_t i = 0; i < batch.images.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i);
      const std::int64_t image = batch.images[i];
      EXPECT_TRUE(test::same_bytes(batch.view_a[n], row(image, epoch, 0)));
      EXPECT_TRUE(test::same_bytes(batch.view_b[n], row(image, epoch, 1)));
    }
  }
}

TEST(TwoViewLoader, ViewsAndEpochsDiffer) {
  const SyntheticDataset dataset({.size = 8});
  TwoViewLoaderOptions options = small_options();
  options.view_b = options.view_a;
  options.global_batch_size = 8;
  const auto batches = take(dataset, options, 0, 2);
  const auto& first = batches[0];
  const auto& second = batches[1];
  for (std::int64_t i = 0; i < 8; ++i) {
    EXPECT_FALSE(first.view_a[i].equal(first.view_b[i]));
    const auto place = std::find(
        second.images.begin(),
        second.images.end(),
        first.images[static_cast<std::size_t>(i)]);
    ASSERT_NE(place, second.images.end());
    EXPECT_FALSE(
        first.view_a[i].equal(second.view_a[place - second.images.begin()]));
  }
}

TEST(TwoViewLoader, MemoryFormatChangesStridesAndNotValues) {
  for (const int channels : {1, 3}) {
    const SyntheticDataset dataset({.size = 8, .channels = channels});
    TwoViewLoaderOptions options = small_options();
    options.channels = channels;
    const auto plain = take(dataset, options, 0, 2);
    options.memory_format = MemoryFormat::kChannelsLast;
    const auto last = take(dataset, options, 0, 2);
    expect_same(last, plain);
    EXPECT_TRUE(plain[0].view_a.is_contiguous());
    EXPECT_TRUE(last[0].view_a.is_contiguous(c10::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(last[0].view_b.is_contiguous(c10::MemoryFormat::ChannelsLast));
    EXPECT_EQ(last[0].view_a.sizes(), plain[0].view_a.sizes());
  }
}

TEST(TwoViewLoader, ConvertsImagesToTheAskedChannels) {
  const SyntheticDataset grey({.size = 8, .channels = 1});
  TwoViewLoaderOptions options = small_options();
  // Equal planes stay equal only without a mean and deviation per channel.
  options.normalization = {.mean = {0, 0, 0}, .stddev = {1, 1, 1}};
  options.view_a.jitter_probability = 0;
  const torch::Tensor view = take(grey, options, 0, 1)[0].view_a;
  EXPECT_EQ(view.sizes(), (std::vector<std::int64_t>{4, 3, 12, 12}));
  EXPECT_TRUE(view.select(1, 0).equal(view.select(1, 2)));

  const SyntheticDataset colour({.size = 8, .channels = 3});
  options.channels = 1;
  EXPECT_EQ(take(colour, options, 0, 1)[0].view_a.size(1), 1);
}

}  // namespace
}  // namespace barlow::data
