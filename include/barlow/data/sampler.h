// SPDX-License-Identifier: MIT
//
// Which images form the global batch of a step: a function of (seed, epoch,
// step), whatever the number of ranks.

#pragma once

#include <cstdint>
#include <vector>

namespace barlow::data {

/// What becomes of the images that do not fill a last batch.
enum class OnPartialBatch : std::uint8_t {
  kDrop,  ///< left out of this epoch; other images the next time
  kKeep,  ///< a smaller last batch
};

/// Cuts a fresh permutation of the data set per epoch into batches.
///
/// Within an epoch no image comes twice. With kKeep each comes exactly once,
/// except that a single image left over is dropped: the method's loss compares
/// the images of a batch and is undefined for one.
///
/// Thread-compatible. Memory: 8 bytes per image.
class EpochSampler {
 public:
  /// Throws UsageError, naming the numbers, if the batch size is below 2, if it
  /// exceeds the data set with kDrop, or if the data set has fewer than 2
  /// images.
  EpochSampler(
      std::int64_t dataset_size,
      std::int64_t global_batch_size,
      std::uint64_t seed,
      OnPartialBatch on_partial_batch);

  /// Batches in an epoch, at least 1.
  [[nodiscard]] std::int64_t steps_per_epoch() const { return steps_; }

  /// The images of one global batch: global_batch_size of them, or fewer (at
  /// least 2) in the last step with kKeep.
  ///
  /// Throws std::out_of_range unless epoch is in [0, 2^32) and step in
  /// [0, steps_per_epoch()). Cost: a permutation of the data set (about 50 ns
  /// per image) when the epoch is not that of the call before.
  std::vector<std::int64_t> batch(std::int64_t epoch, std::int64_t step);

 private:
  std::int64_t dataset_size_;
  std::int64_t global_batch_size_;
  std::uint64_t seed_;
  std::int64_t steps_;
  std::int64_t cached_epoch_ = -1;
  std::vector<std::int64_t> order_;  // of cached_epoch_
};

/// Positions [begin, end) of a sequence.
struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// The part of `count` positions that belongs to `rank`: contiguous, in rank
/// order, without gap or overlap, sizes differing by at most one, the larger
/// ones first. Empty for some ranks where count < world_size.
///
/// Throws std::invalid_argument unless count >= 0 and 0 <= rank < world_size.
[[nodiscard]] Slice rank_slice(std::int64_t count, int rank, int world_size);

}  // namespace barlow::data
