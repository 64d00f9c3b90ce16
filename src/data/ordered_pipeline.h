// SPDX-License-Identifier: MIT
//
// Batches made by several threads and handed out in order.

#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace barlow::data::detail {

/// What the batches are.
template <class Batch>
class BatchMaker {
 public:
  BatchMaker() = default;
  BatchMaker(const BatchMaker&) = delete;
  BatchMaker& operator=(const BatchMaker&) = delete;
  BatchMaker(BatchMaker&&) = delete;
  BatchMaker& operator=(BatchMaker&&) = delete;
  virtual ~BatchMaker() = default;

  /// The next batch with room for its items; nothing at the end. Called by one
  /// thread at a time, in the order of the batches.
  virtual std::optional<Batch> open() = 0;

  [[nodiscard]] virtual std::int64_t items(const Batch& batch) const = 0;

  /// Makes one item. Called once per item, concurrently for different items.
  virtual void fill(Batch& batch, std::int64_t item) const = 0;
};

struct PipelineOptions {
  int workers = 2;         ///< threads; 0: inside next()
  int window = 4;          ///< batches open or waiting to be taken, >= 1
  std::int64_t chunk = 1;  ///< items that a worker takes at a time, >= 1
};

/// Keeps up to `window` batches in the making. All workers fill the oldest
/// batch that has items left, so that the next one is ready as soon as can be.
///
/// The first error in order (of batches, then items) is thrown by the `next`
/// whose batch it is in; items after it may not be made.
///
/// Thread-compatible for its user. Destruction at any time ends the threads
/// after the items that they are at.
template <class Batch>
class OrderedPipeline {
 public:
  OrderedPipeline(
      std::unique_ptr<BatchMaker<Batch>> maker,
      const PipelineOptions& options)
      : maker_(std::move(maker)),
        chunk_(options.chunk),
        window_size_(
            options.workers == 0 ? 1U
                                 : static_cast<std::size_t>(options.window)) {
    workers_.reserve(static_cast<std::size_t>(options.workers));
    for (int i = 0; i < options.workers; ++i) {
      workers_.emplace_back([this](std::stop_token stop) { work(stop); });
    }
  }
  OrderedPipeline(const OrderedPipeline&) = delete;
  OrderedPipeline& operator=(const OrderedPipeline&) = delete;
  OrderedPipeline(OrderedPipeline&&) = delete;
  OrderedPipeline& operator=(OrderedPipeline&&) = delete;

  ~OrderedPipeline() {
    // All at once: a jthread's own destructor would stop and join one by one.
    for (std::jthread& worker : workers_) {
      worker.request_stop();
    }
  }

  /// The next batch; nothing after the last one.
  std::optional<Batch> next() {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    if (workers_.empty()) {
      while (!front_ready()) {
        run_one(lock, {});
      }
    } else {
      ready_.wait(lock, [this] { return front_ready(); });
    }
    waited_ += std::chrono::steady_clock::now() - start;
    return take_front();
  }

  /// Time spent in `next`.
  [[nodiscard]] double seconds_waiting() const { return waited_.count(); }

 private:
  struct Slot {
    std::optional<Batch> batch;
    std::int64_t items = 0;
    std::int64_t claimed = 0;  // items given to a thread, the first ones
    int running = 0;           // threads that are filling it
    std::exception_ptr error;
    std::int64_t failed_item = std::numeric_limits<std::int64_t>::max();

    [[nodiscard]] bool finished() const {
      return claimed == items && running == 0;
    }
  };

  // All functions below are called with the mutex held; those that take the
  // lock give it up while they run the maker.

  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (work_.wait(lock, stop, [this] {
      return can_open() || unclaimed() != nullptr;
    }) && !stop.stop_requested()) {
      run_one(lock, stop);
    }
  }

  void run_one(
      std::unique_lock<std::mutex>& lock,
      const std::stop_token& stop) {
    if (Slot* slot = unclaimed()) {
      fill_some(*slot, lock, stop);
    } else {
      open_one(lock);
    }
  }

  /// The oldest batch with items left, none beyond a failed batch.
  Slot* unclaimed() {
    for (Slot& slot : window_) {
      if (slot.error) {
        return nullptr;
      }
      if (slot.claimed < slot.items) {
        return &slot;
      }
    }
    return nullptr;
  }

  [[nodiscard]] bool can_open() const {
    return !opening_ && !ended_ && !failed_ && window_.size() < window_size_;
  }

  [[nodiscard]] bool front_ready() const {
    return window_.empty() ? ended_ : window_.front().finished();
  }

  void open_one(std::unique_lock<std::mutex>& lock) {
    opening_ = true;
    lock.unlock();
    Slot slot;
    try {
      slot.batch = maker_->open();
      slot.items = slot.batch ? maker_->items(*slot.batch) : 0;
    } catch (...) {
      slot.error = std::current_exception();
    }
    lock.lock();
    opening_ = false;
    failed_ = failed_ || slot.error;
    ended_ = !slot.error && !slot.batch;
    if (!ended_) {
      window_.push_back(std::move(slot));
    }
    work_.notify_all();
    ready_.notify_one();
  }

  void fill_some(
      Slot& slot,
      std::unique_lock<std::mutex>& lock,
      const std::stop_token& stop) {
    std::int64_t item = slot.claimed;
    const std::int64_t end = std::min(slot.items, item + chunk_);
    slot.claimed = end;
    ++slot.running;
    lock.unlock();
    std::exception_ptr error;
    try {
      for (; item < end && !stop.stop_requested(); ++item) {
        maker_->fill(*slot.batch, item);
      }
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --slot.running;
    // Items are claimed in order: every item before a failed one has been
    // claimed too, and is waited for, so that the first error is certain.
    if (error && item < slot.failed_item) {
      slot.error = error;
      slot.failed_item = item;
      slot.claimed = slot.items;
      failed_ = true;
    }
    if (slot.finished()) {
      ready_.notify_one();
    }
  }

  std::optional<Batch> take_front() {
    if (window_.empty()) {
      return std::nullopt;
    }
    if (window_.front().error) {
      std::rethrow_exception(window_.front().error);
    }
    Batch batch = std::move(*window_.front().batch);
    window_.pop_front();
    work_.notify_one();
    return batch;
  }

  const std::unique_ptr<BatchMaker<Batch>> maker_;
  const std::int64_t chunk_;
  const std::size_t window_size_;
  std::chrono::duration<double> waited_{0};  // the user's thread only

  std::mutex mutex_;  // guards all of the following but workers_
  std::condition_variable_any work_;
  std::condition_variable ready_;
  std::deque<Slot> window_;  // references stay valid at push_back, pop_front
  bool opening_ = false;     // a thread is in maker_->open()
  bool ended_ = false;       // maker_->open() gave nothing
  bool failed_ = false;      // a slot has an error
  // Last: destroyed, and so joined, before what the threads use.
  std::vector<std::jthread> workers_;
};

}  // namespace barlow::data::detail
