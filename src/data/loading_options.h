// SPDX-License-Identifier: MIT
//
// What the options of all loaders have in common.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "barlow/core/error.h"
#include "barlow/data/augment.h"

namespace barlow::data::detail {

/// Throws UsageError, naming the field, what was found and what was expected.
template <class Number>
void require(
    bool holds,
    const char* field,
    Number found,
    const char* expected) {
  if (!holds) {
    fail<UsageError>(field, " is ", found, "; expected ", expected);
  }
}

inline void check_normalization(const Normalization& n, int channels) {
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    require(
        std::isfinite(n.mean[c]),
        "normalization.mean",
        n.mean[c],
        "a finite number");
    require(
        std::isfinite(n.stddev[c]) && n.stddev[c] > 0,
        "normalization.stddev",
        n.stddev[c],
        "a number above 0");
  }
}

/// Options: TwoViewLoaderOptions or EvalLoaderOptions.
template <class Options>
void check_loading_options(const Options& o) {
  require(o.channels == 1 || o.channels == 3, "channels", o.channels, "1 or 3");
  require(
      o.workers >= 0 && o.workers <= 1024,
      "workers",
      o.workers,
      "a number in [0, 1024]");
  require(o.queue_batches >= 1, "queue_batches", o.queue_batches, "at least 1");
  check_normalization(o.normalization, o.channels);
}

/// How many items a worker takes at a time.
///
/// Small items are taken in groups of about 2^14 samples, 100 us or more of
/// work, beside which taking them (1 us) is nothing; but never so many that a
/// batch does not spread over all workers.
inline std::int64_t items_per_chunk(
    std::int64_t batch_items,
    std::int64_t samples_per_item,
    int workers) {
  constexpr std::int64_t kSamplesPerChunk = 1 << 14;
  const std::int64_t share = batch_items / std::max(1, 2 * workers);
  return std::clamp<std::int64_t>(
      kSamplesPerChunk / samples_per_item,
      1,
      std::max<std::int64_t>(1, share));
}

}  // namespace barlow::data::detail
