// SPDX-License-Identifier: MIT

#include "support/thread_group.h"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace barlow::test {
namespace {

// What a rank brings to a collective.
struct Call {
  std::string what;  // equal on all ranks: name, dtype, shape but for rows
  torch::Tensor tensor;
};

// The ranks' meeting place: a barrier that can be broken.
class Meeting {
 public:
  explicit Meeting(int ranks) : calls_(static_cast<std::size_t>(ranks)) {}

  // Waits until all ranks have arrived; throws once the meeting is broken.
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    check_unbroken();
    const std::uint64_t round = round_;
    if (++arrived_ == calls_.size()) {
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&] { return round_ != round || !broken_.empty(); });
    if (round_ == round) {
      check_unbroken();
    }
  }

  void break_up(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (broken_.empty()) {
      broken_ = reason;
    }
    changed_.notify_all();
  }

  // Between two waits each rank writes its own and none reads; after it, all
  // may read.
  std::vector<Call>& calls() { return calls_; }
  Traffic& traffic() { return traffic_; }

 private:
  void check_unbroken() const {
    if (!broken_.empty()) {
      throw std::logic_error("run_ranks: " + broken_);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Call> calls_;
  Traffic traffic_;  // written by rank 0 alone
  std::string broken_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
};

class ThreadBackend : public dist::ProcessGroupBackend {
 public:
  ThreadBackend(std::shared_ptr<Meeting> meeting, int rank)
      : meeting_(std::move(meeting)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override {
    return static_cast<int>(meeting_->calls().size());
  }

  dist::PendingCollective start_all_reduce_sum(torch::Tensor& tensor) override {
    const torch::NoGradGuard no_grad;
    meet({describe("all_reduce_sum", tensor, 0), tensor});
    torch::Tensor sum = meeting_->calls()[0].tensor.clone();
    for (std::size_t other = 1; other < meeting_->calls().size(); ++other) {
      sum += meeting_->calls()[other].tensor;
    }
    meeting_->arrive_and_wait();  // all have read: the tensors may change
    tensor.copy_(sum);
    count(sum, &Traffic::all_reduced_bytes);
    return {};  // done already
  }

  void broadcast_(torch::Tensor& tensor, int root) override {
    const torch::NoGradGuard no_grad;
    meet({describe("broadcast", tensor, 0), tensor});
    const torch::Tensor sent =
        meeting_->calls()[static_cast<std::size_t>(root)].tensor.clone();
    meeting_->arrive_and_wait();
    tensor.copy_(sent);
    count(sent, &Traffic::broadcast_bytes);
  }

  void announce_failure(const std::string& /*reason*/) override {}

  torch::Tensor all_gather_rows(
      const torch::Tensor& rows,
      const std::vector<std::int64_t>& row_counts) override {
    const torch::NoGradGuard no_grad;
    meet({describe("all_gather_rows", rows, 1), rows});
    std::vector<torch::Tensor> parts;
    for (std::size_t other = 0; other < row_counts.size(); ++other) {
      parts.push_back(meeting_->calls()[other].tensor);
      if (parts.back().size(0) != row_counts[other]) {
        meeting_->break_up("row_counts is not what the ranks have");
      }
    }
    torch::Tensor all = torch::cat(parts);
    meeting_->arrive_and_wait();
    count(all, &Traffic::gathered_bytes);
    return all;
  }

 private:
  // The shape from axis `from` on.
  static std::string
  describe(const char* name, const torch::Tensor& tensor, std::int64_t from) {
    std::ostringstream text;
    text << name << " " << tensor.scalar_type() << " "
         << tensor.sizes().slice(static_cast<std::size_t>(from));
    return text.str();
  }

  void meet(Call call) {
    std::vector<Call>& calls = meeting_->calls();
    calls[static_cast<std::size_t>(rank_)] = std::move(call);
    meeting_->arrive_and_wait();
    for (const Call& other : calls) {
      if (other.what != calls[0].what) {
        // All ranks see this, so none is left waiting.
        throw std::logic_error(
            "run_ranks: the ranks' calls differ: " + calls[0].what + "; " +
            other.what);
      }
    }
  }

  void count(const torch::Tensor& result, std::int64_t Traffic::*bytes) {
    if (rank_ == 0) {
      ++meeting_->traffic().calls;
      meeting_->traffic().*bytes += static_cast<std::int64_t>(result.nbytes());
    }
  }

  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace

Traffic run_ranks(
    int ranks,
    const std::function<void(const dist::ProcessGroup&)>& body) {
  const auto meeting = std::make_shared<Meeting>(ranks);
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(
            dist::ProcessGroup(std::make_shared<ThreadBackend>(meeting, rank)));
        // Nobody may wait for a rank that has gone.
        meeting->break_up("a rank returned while others still communicate");
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) {
          first = std::current_exception();
        }
        meeting->break_up("another rank failed");
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  if (first) {
    std::rethrow_exception(first);
  }
  return meeting->traffic();
}

}  // namespace barlow::test
