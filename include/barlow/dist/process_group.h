// SPDX-License-Identifier: MIT
//
// A group of ranks that compute one training run together.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <torch/types.h>

namespace barlow::dist {

/// What a backend provides. Implementations may assume that every rank makes
/// the same calls in the same order, with equal dtypes, and equal shapes but
/// for the rows of `all_gather_rows`.
class ProcessGroupBackend {
 public:
  ProcessGroupBackend() = default;
  ProcessGroupBackend(const ProcessGroupBackend&) = delete;
  ProcessGroupBackend& operator=(const ProcessGroupBackend&) = delete;
  ProcessGroupBackend(ProcessGroupBackend&&) = delete;
  ProcessGroupBackend& operator=(ProcessGroupBackend&&) = delete;
  virtual ~ProcessGroupBackend() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void all_reduce_sum_(torch::Tensor& tensor) = 0;
  virtual torch::Tensor all_gather_rows(
      const torch::Tensor& rows,
      const std::vector<std::int64_t>& row_counts) = 0;
};

/// Handle to a group; copies share the backend.
///
/// A default-constructed group is a single process: rank 0 of 1, whose
/// collectives are identities and need no environment, port or launcher. Code
/// that uses a group therefore has no branch for "not distributed".
///
/// Thread-compatible: one thread at a time may use a group.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  explicit ProcessGroup(std::shared_ptr<ProcessGroupBackend> backend)
      : backend_(std::move(backend)) {}

  /// This process's number, in [0, size()).
  [[nodiscard]] int rank() const { return backend_ ? backend_->rank() : 0; }

  /// The number of ranks (the world size), at least 1.
  [[nodiscard]] int size() const { return backend_ ? backend_->size() : 1; }

  /// Replaces `tensor` on every rank by the sum over ranks. Contiguous; no
  /// gradient flows through it. All ranks obtain the same bits.
  void all_reduce_sum_(torch::Tensor& tensor) const;

  /// The rows of all ranks below each other in rank order.
  ///
  ///     rows         [n, D]    n may differ between ranks, also 0
  ///     row_counts   W counts  n of every rank, as `gather_counts` returns
  ///     returns      [N, D]    N = the sum of row_counts
  ///
  /// No gradient flows through it.
  [[nodiscard]] torch::Tensor all_gather_rows(
      const torch::Tensor& rows,
      const std::vector<std::int64_t>& row_counts) const;

  /// Every rank's `count`, in rank order.
  [[nodiscard]] std::vector<std::int64_t> gather_counts(
      std::int64_t count) const;

 private:
  std::shared_ptr<ProcessGroupBackend> backend_;  // null: a single process
};

}  // namespace barlow::dist
