// SPDX-License-Identifier: MIT

#include "barlow/data/eval_loader.h"

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/data/augment.h"
#include "data/synthetic_dataset.h"

namespace barlow::data {
namespace {

using test::SyntheticDataset;

EvalLoaderOptions small_options() {
  return {.batch_size = 4, .resize_px = 16, .crop_px = 14};
}

std::vector<LabelledBatch> take_all(
    const Dataset& dataset,
    const EvalLoaderOptions& options) {
  EvalLoader loader(dataset, options);
  std::vector<LabelledBatch> batches;
  while (auto batch = loader.next()) {
    batches.push_back(*batch);
  }
  EXPECT_FALSE(loader.next().has_value()) << "the end stays the end";
  return batches;
}

LabelledBatch joined(const std::vector<LabelledBatch>& batches) {
  std::vector<torch::Tensor> images;
  std::vector<torch::Tensor> labels;
  for (const LabelledBatch& batch : batches) {
    images.push_back(batch.images);
    labels.push_back(batch.labels);
  }
  return {.images = torch::cat(images), .labels = torch::cat(labels)};
}

TEST(EvalLoader, GivesEachImageOnceInOrder) {
  const SyntheticDataset dataset({.size = 10});
  const EvalLoaderOptions options = small_options();
  const auto batches = take_all(dataset, options);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_EQ(batches[0].images.size(0), 4);
  EXPECT_EQ(batches[2].images.size(0), 2);
  const LabelledBatch all = joined(batches);
  EXPECT_EQ(all.images.sizes(), (std::vector<std::int64_t>{10, 3, 14, 14}));
  EXPECT_EQ(all.labels.scalar_type(), torch::kInt64);
  for (std::int64_t i = 0; i < 10; ++i) {
    torch::Tensor expected = torch::empty({3, 14, 14});
    normalize_into(
        evaluation_view(dataset.load(i), 16, 14),
        options.normalization,
        expected.data_ptr<float>());
    EXPECT_TRUE(test::same_bytes(all.images[i], expected)) << "image " << i;
    EXPECT_EQ(all.labels[i].item<std::int64_t>(), i % 3);
  }
}

TEST(EvalLoader, KnowsItsSize) {
  const SyntheticDataset dataset({.size = 10});
  const EvalLoader loader(dataset, small_options());
  EXPECT_EQ(loader.size(), 10);
}

TEST(EvalLoader, SameBytesForAnyWorkersQueueAndBatchSize) {
  const SyntheticDataset dataset({.size = 23});
  EvalLoaderOptions options = small_options();
  options.workers = 0;
  const LabelledBatch expected = joined(take_all(dataset, options));
  for (const int workers : {1, 4}) {
    for (const std::int64_t batch_size : {1, 5, 23, 100}) {
      options.workers = workers;
      options.batch_size = batch_size;
      options.queue_batches = workers;
      const LabelledBatch actual = joined(take_all(dataset, options));
      EXPECT_TRUE(test::same_bytes(actual.images, expected.images));
      EXPECT_TRUE(test::same_bytes(actual.labels, expected.labels));
    }
  }
}

TEST(EvalLoader, LabelsAreMinusOneWhereThereAreNone) {
  const SyntheticDataset dataset({.size = 5, .labelled = false});
  const LabelledBatch all = joined(take_all(dataset, small_options()));
  EXPECT_TRUE(all.labels.eq(-1).all().item<bool>());
}

TEST(EvalLoader, MemoryFormatChangesStridesAndNotValues) {
  const SyntheticDataset dataset({.size = 5});
  EvalLoaderOptions options = small_options();
  const auto plain = take_all(dataset, options);
  options.memory_format = MemoryFormat::kChannelsLast;
  const auto last = take_all(dataset, options);
  EXPECT_TRUE(last[0].images.is_contiguous(c10::MemoryFormat::ChannelsLast));
  EXPECT_FALSE(last[0].images.is_contiguous());
  EXPECT_TRUE(plain[0].images.is_contiguous());
  EXPECT_TRUE(test::same_bytes(last[0].images, plain[0].images));
}

TEST(EvalLoader, ThrowsTheFirstErrorInOrderAfterTheGoodBatches) {
  const SyntheticDataset dataset({.size = 40, .broken = {31, 11, 10}});
  for (const int workers : {0, 1, 4}) {
    EvalLoaderOptions options = small_options();
    options.workers = workers;
    EvalLoader loader(dataset, options);
    EXPECT_TRUE(loader.next().has_value());
    EXPECT_TRUE(loader.next().has_value());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(
          test::error_of([&] { loader.next(); }),
          "synthetic image 10: broken");
    }
  }
}

TEST(EvalLoader, LoadsNoFurtherThanItsQueue) {
  const SyntheticDataset dataset({.size = 100});
  EvalLoaderOptions options = small_options();
  options.workers = 3;
  options.queue_batches = 2;
  EvalLoader loader(dataset, options);
  loader.next();
  while (dataset.loads() < 12) {
    std::this_thread::yield();
  }
  // Time enough for a worker that does not know the bound.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(dataset.loads(), 12);
}

TEST(EvalLoader, EndsAtAnyMoment) {
  const SyntheticDataset dataset({.size = 40});
  for (int i = 0; i < 50; ++i) {
    EvalLoaderOptions options = small_options();
    options.workers = 1 + i % 4;
    EvalLoader loader(dataset, options);
    for (int taken = 0; taken < i % 12; ++taken) {
      loader.next();
    }
  }
}

TEST(EvalLoader, RefusesWrongOptionsByName) {
  const SyntheticDataset dataset({.size = 10});
  const auto refusal = [&](const EvalLoaderOptions& options) {
    const auto message =
        test::error_of([&] { const EvalLoader loader(dataset, options); });
    return message ? message->substr(0, message->find(';')) : "";
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.batch_size = 0}), "batch_size is 0");
  EXPECT_EQ(refusal({.workers = 2000}), "workers is 2000");
  EXPECT_EQ(refusal({.queue_batches = 0}), "queue_batches is 0");
  EXPECT_EQ(refusal({.channels = 4}), "channels is 4");
  EXPECT_EQ(refusal({.resize_px = 0}), "resize_px is 0");
  EXPECT_EQ(refusal({.crop_px = 20000}), "crop_px is 20000");
}

}  // namespace
}  // namespace barlow::data
