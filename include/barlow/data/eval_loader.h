// SPDX-License-Identifier: MIT
//
// One pass over a data set in its own order, for evaluation.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <torch/types.h>

#include "barlow/data/augment.h"
#include "barlow/data/dataset.h"
#include "barlow/data/memory_format.h"

namespace barlow::data {

/// Consecutive images of a data set.
///
///     images   [n, C, S, S]  float32, CPU, normalised
///     labels   [n]           int64, CPU, -1 where the set has no labels
struct LabelledBatch {
  torch::Tensor images;
  torch::Tensor labels;
};

struct EvalLoaderOptions {
  std::int64_t batch_size = 256;  ///< images, >= 1; the last batch has the rest
  int workers = 2;                ///< threads, [0, 1024]; 0: inside next()
  int queue_batches = 4;          ///< batches made or being made ahead, >= 1
  int channels = 3;               ///< C: 1 or 3; images are converted
  int resize_px = 256;            ///< shorter side before the crop, [1, 16384]
  int crop_px = 224;              ///< S, [1, 16384]
  Normalization normalization{};
  MemoryFormat memory_format = MemoryFormat::kContiguous;
};

/// Gives each image once, as `evaluation_view` makes it, in the data set's
/// order. The bytes do not depend on `workers` or `queue_batches`.
///
/// Memory: at most queue_batches batches of 4 n C S^2 bytes beside those handed
/// out, and one decoded image per worker.
///
/// Thread-compatible: calls of one loader must not run concurrently.
class EvalLoader {
 public:
  /// Starts the workers. `dataset` must outlive this. Throws UsageError if an
  /// option is out of its range, naming it.
  EvalLoader(const Dataset& dataset, const EvalLoaderOptions& options);
  EvalLoader(const Dataset&& dataset, const EvalLoaderOptions&) = delete;
  EvalLoader(const EvalLoader&) = delete;
  EvalLoader& operator=(const EvalLoader&) = delete;
  EvalLoader(EvalLoader&&) = delete;
  EvalLoader& operator=(EvalLoader&&) = delete;
  /// Waits for the images being made, at most one per worker.
  ~EvalLoader();

  /// The next batch; nothing after the last one, as often as it is asked.
  ///
  /// An image that cannot be made throws here what it threw, once the batches
  /// before its own have been given: of several the first in order, and again
  /// at each further call.
  std::optional<LabelledBatch> next();

  /// Images in the whole pass: the data set's size.
  [[nodiscard]] std::int64_t size() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace barlow::data
