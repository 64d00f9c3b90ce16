// SPDX-License-Identifier: MIT
//
// A group of ranks that compute one training run together.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

namespace barlow::dist {

/// A collective that was started and may still run. Move-only; its tensor must
/// not be read or written before `wait` has returned.
class PendingCollective {
 public:
  /// One that is complete.
  PendingCollective() = default;
  explicit PendingCollective(std::function<void()> wait)
      : wait_(std::move(wait)) {}
  PendingCollective(const PendingCollective&) = delete;
  PendingCollective& operator=(const PendingCollective&) = delete;
  PendingCollective(PendingCollective&&) = default;
  PendingCollective& operator=(PendingCollective&&) = default;
  ~PendingCollective() = default;

  /// Returns when the result is there; on a GPU, when later work of the current
  /// stream will find it. Throws what the collective failed with. Once only.
  void wait();

 private:
  std::function<void()> wait_;  // null: complete
};

/// What a backend provides. Implementations may assume that every rank makes
/// the same calls in the same order, with equal dtypes, and equal shapes but
/// for the rows of `all_gather_rows`. They work on tensors of any device.
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
  [[nodiscard]] virtual int local_rank() const { return 0; }
  virtual PendingCollective start_all_reduce_sum(torch::Tensor& tensor) = 0;
  virtual torch::Tensor all_gather_rows(
      const torch::Tensor& rows,
      const std::vector<std::int64_t>& row_counts) = 0;
  virtual void broadcast_(torch::Tensor& tensor, int root) = 0;
  virtual void announce_failure(const std::string& reason) = 0;
  [[nodiscard]] virtual std::chrono::nanoseconds time_waited() const {
    return {};
  }
};

/// Handle to a group; copies share the backend.
///
/// A default-constructed group is a single process: rank 0 of 1, whose
/// collectives are identities and need no environment, port or launcher. Code
/// that uses a group therefore has no branch for "not distributed".
///
/// rank, size, local_rank and time_waited are this process's own affair; all
/// others are collective calls: every rank makes them in the same order. They
/// throw Error when a peer is lost or does not answer within the group's
/// time-out, naming this rank, the operation and, where it is known, the rank
/// that was lost; the group is useless from then on.
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

  /// This process's number among those of its machine, from 0.
  [[nodiscard]] int local_rank() const {
    return backend_ ? backend_->local_rank() : 0;
  }

  /// How long this rank's threads have waited in collectives so far, for
  /// messages and for slower ranks. On a GPU it is the device that waits, which
  /// is not counted.
  [[nodiscard]] std::chrono::nanoseconds time_waited() const {
    return backend_ ? backend_->time_waited() : std::chrono::nanoseconds{};
  }

  /// Replaces `tensor` on every rank by the sum over ranks. Contiguous; no
  /// gradient flows through it. All ranks obtain the same bits.
  void all_reduce_sum_(torch::Tensor& tensor) const;

  /// The same, without waiting: other work, and other collectives, may go on
  /// while numbers travel. `tensor` shares memory with the caller's.
  [[nodiscard]] PendingCollective start_all_reduce_sum(
      torch::Tensor tensor) const;

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

  /// Every rank's text, in rank order.
  [[nodiscard]] std::vector<std::string> gather_texts(
      const std::string& text) const;

  /// Overwrites `tensor`, contiguous, by that of rank `root`.
  void broadcast_(torch::Tensor& tensor, int root = 0) const;

  /// Rank `root`'s text.
  [[nodiscard]] std::string broadcast_text(
      const std::string& text,
      int root = 0) const;

  /// Tells the peers why this rank is about to leave, so that their messages
  /// can. Not collective, never throws.
  void announce_failure(const std::string& reason) const noexcept;

 private:
  std::shared_ptr<ProcessGroupBackend> backend_;  // null: a single process
};

}  // namespace barlow::dist
