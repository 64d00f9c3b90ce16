// SPDX-License-Identifier: MIT
//
// The endless sequence of training batches: two random views of each image,
// made by worker threads ahead of their use.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "barlow/data/augment.h"
#include "barlow/data/dataset.h"
#include "barlow/data/memory_format.h"
#include "barlow/data/sampler.h"

namespace barlow::data {

/// This rank's part of one global batch. Row i of both views is `images[i]`.
///
///     view_a, view_b   [n, C, S, S]  float32, CPU, normalised; S is the view's
///                                    own. n can be 0 where a partial batch has
///                                    fewer images than there are ranks.
struct TwoViewBatch {
  torch::Tensor view_a;
  torch::Tensor view_b;
  std::vector<std::int64_t> images;  ///< numbers in the data set, n of them
  std::int64_t global_size = 0;      ///< images of all ranks' parts together
  std::int64_t epoch = 0;            ///< step / steps_per_epoch
  std::int64_t step = 0;             ///< since the start of training
};

struct TwoViewLoaderOptions {
  std::int64_t global_batch_size = 256;  ///< images over all ranks, >= 2
  std::uint64_t seed = 0;                ///< of order and augmentation
  OnPartialBatch on_partial_batch = OnPartialBatch::kDrop;
  int channels = 3;  ///< C: 1 or 3; images are converted
  ViewOptions view_a{};
  ViewOptions view_b{};
  Normalization normalization{};
  int workers = 2;        ///< threads, [0, 1024]; 0: inside next()
  int queue_batches = 4;  ///< batches made or being made ahead, >= 1
  int rank = 0;           ///< [0, world_size)
  int world_size = 1;     ///< >= 1
  MemoryFormat memory_format = MemoryFormat::kContiguous;
};

/// Gives the batches of step 0, 1, ... without end; the next epoch's first
/// batches are made while the last ones of an epoch are used.
///
/// The bytes of a batch depend on data set, seed, step, batch size and views
/// alone: not on `workers`, `queue_batches`, `rank`, `world_size` or the step
/// that it was started at. Image i of epoch e is drawn from the stream
/// {seed, kAugmentation, e, i, view 0 or 1}; the ranks' batches, one after the
/// other, are the batch of a single process.
///
/// Memory: at most queue_batches batches of 4 n C (Sa^2 + Sb^2) bytes beside
/// those handed out, 8 bytes per image of the set, and one image with its two
/// views per worker.
///
/// Thread-compatible: calls of one loader must not run concurrently.
class TwoViewLoader {
 public:
  /// `dataset` must outlive this. Throws UsageError if an option is out of its
  /// range, naming it, or cannot serve this data set (see EpochSampler).
  TwoViewLoader(const Dataset& dataset, const TwoViewLoaderOptions& options);
  TwoViewLoader(const Dataset&& dataset, const TwoViewLoaderOptions&) = delete;
  TwoViewLoader(const TwoViewLoader&) = delete;
  TwoViewLoader& operator=(const TwoViewLoader&) = delete;
  TwoViewLoader(TwoViewLoader&&) = delete;
  TwoViewLoader& operator=(TwoViewLoader&&) = delete;
  /// Waits for the images being made, at most one per worker.
  ~TwoViewLoader();

  /// Starts the workers at a step, counted from the start of training; what was
  /// made ahead before is thrown away. Throws std::invalid_argument if
  /// global_step is negative.
  void start(std::int64_t global_step);

  /// The batch of the next step; waits until it is made.
  ///
  /// An image that cannot be made throws here what it threw, once the batches
  /// before its own have been given: of several the first in order, and again
  /// at each further call until `start`. Throws std::logic_error before the
  /// first `start`.
  TwoViewBatch next();

  /// How long `next` has waited for batches since `start`, in seconds. With 0
  /// workers that includes making them.
  [[nodiscard]] double seconds_waiting() const;

  /// Steps in an epoch, at least 1.
  [[nodiscard]] std::int64_t steps_per_epoch() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace barlow::data
