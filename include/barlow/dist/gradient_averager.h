// SPDX-License-Identifier: MIT
//
// Parameter gradients averaged over ranks while the backward pass goes on.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <torch/types.h>

#include "barlow/dist/process_group.h"

namespace barlow::dist {

/// When gradients travel.
enum class GradientExchange : std::uint8_t {
  kOverlapped,     ///< each bucket as soon as its last gradient is there
  kAfterBackward,  ///< all at the end, as one message; for comparison
};

struct GradientAveragerOptions {
  GradientExchange exchange = GradientExchange::kOverlapped;

  /// Gradients are gathered into messages of about this size, >= 1: large
  /// enough that the cost of a message is small beside that of its bytes, small
  /// enough that the last one, which nothing overlaps, is short.
  std::int64_t bucket_bytes = std::int64_t{25} << 20;
};

/// Replaces each parameter's gradient by its mean over the ranks.
///
///     averager.begin();
///     loss.backward();
///     averager.finish();   // grad() now holds the mean
///
/// Buckets are filled in the reverse of the parameters' order, about that in
/// which backward reaches them, and sent in that order on every rank. A
/// parameter without a gradient counts as zero and, if no rank has one, remains
/// without. Gradients outside begin and finish are left alone, so that several
/// backward passes can add up before one exchange.
///
/// Sums are float32 for float32 gradients: rounding of the order of 1e-7. All
/// ranks obtain the same bits. Memory: one copy of all gradients.
///
/// A single process needs and does nothing. Collective; thread-compatible.
class GradientAverager {
 public:
  /// `parameters` in the same order on all ranks, of one dtype and device.
  /// Throws c10::ValueError if they are not, or bucket_bytes < 1.
  GradientAverager(
      const std::vector<torch::Tensor>& parameters,
      const ProcessGroup& group,
      const GradientAveragerOptions& options = {});
  GradientAverager(const GradientAverager&) = delete;
  GradientAverager& operator=(const GradientAverager&) = delete;
  GradientAverager(GradientAverager&&) = delete;
  GradientAverager& operator=(GradientAverager&&) = delete;
  ~GradientAverager();

  /// The next backward pass completes the gradients.
  void begin();

  /// Waits until all gradients are averaged.
  void finish();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // null in a single process
};

}  // namespace barlow::dist
