// SPDX-License-Identifier: MIT

#include "barlow/data/sampler.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "barlow/core/error.h"
#include "barlow/core/random.h"

namespace barlow::data {
namespace {

// The loss standardises over the batch: one image has no variance.
constexpr std::int64_t kSmallestBatch = 2;

std::int64_t steps_in_epoch(
    std::int64_t size,
    std::int64_t batch,
    OnPartialBatch on_partial_batch) {
  const std::int64_t rest = size % batch;
  const bool keep_rest =
      on_partial_batch == OnPartialBatch::kKeep && rest >= kSmallestBatch;
  return size / batch + (keep_rest ? 1 : 0);
}

}  // namespace

EpochSampler::EpochSampler(
    std::int64_t dataset_size,
    std::int64_t global_batch_size,
    std::uint64_t seed,
    OnPartialBatch on_partial_batch)
    : dataset_size_(dataset_size),
      global_batch_size_(global_batch_size),
      seed_(seed),
      steps_(0) {
  if (global_batch_size < kSmallestBatch) {
    fail<UsageError>(
        "batch size is ",
        global_batch_size,
        "; expected at least ",
        kSmallestBatch,
        " images, since the loss compares the images of a batch");
  }
  if (dataset_size < kSmallestBatch) {
    fail<UsageError>(
        "the data set has ",
        dataset_size,
        " images; expected at least ",
        kSmallestBatch);
  }
  steps_ = steps_in_epoch(dataset_size, global_batch_size, on_partial_batch);
  if (steps_ == 0) {
    fail<UsageError>(
        "batch size is ",
        global_batch_size,
        ", but the data set has ",
        dataset_size,
        " images and partial batches are dropped; expected a batch of at most ",
        dataset_size,
        ", or partial batches kept");
  }
}

std::vector<std::int64_t> EpochSampler::batch(
    std::int64_t epoch,
    std::int64_t step) {
  if (epoch < 0 || epoch > std::numeric_limits<std::uint32_t>::max()) {
    fail<std::out_of_range>("EpochSampler: no epoch ", epoch);
  }
  if (step < 0 || step >= steps_) {
    fail<std::out_of_range>(
        "EpochSampler: no step ",
        step,
        " in an epoch of ",
        steps_);
  }
  if (epoch != cached_epoch_) {
    RandomStream stream(
        {.seed = seed_,
         .purpose = StreamPurpose::kEpochOrder,
         .epoch = static_cast<std::uint64_t>(epoch)});
    order_ = stream.permutation(dataset_size_);
    cached_epoch_ = epoch;
  }
  const std::int64_t begin = step * global_batch_size_;
  const std::int64_t count =
      std::min(global_batch_size_, dataset_size_ - begin);
  const auto first = order_.begin() + begin;
  return {first, first + count};
}

Slice rank_slice(std::int64_t count, int rank, int world_size) {
  if (count < 0 || rank < 0 || rank >= world_size) {
    fail<std::invalid_argument>(
        "rank_slice: count ",
        count,
        ", rank ",
        rank,
        " of ",
        world_size);
  }
  const std::int64_t least = count / world_size;
  const std::int64_t larger = count % world_size;
  const std::int64_t begin =
      rank * least + std::min<std::int64_t>(rank, larger);
  return {.begin = begin, .end = begin + least + (rank < larger ? 1 : 0)};
}

}  // namespace barlow::data
