// SPDX-License-Identifier: MIT

#include "dist/c10d_backend.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <sstream>
#include <type_traits>
#include <utility>

#include "barlow/core/error.h"

namespace barlow::dist::detail {
namespace {

// The first line: c10d's texts go on with a stack of calls.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string describe(const char* operation, const torch::Tensor& tensor) {
  std::ostringstream text;
  text << operation << " of " << tensor.scalar_type() << tensor.sizes();
  return text.str();
}

class C10dBackend : public ProcessGroupBackend,
                    public std::enable_shared_from_this<C10dBackend> {
 public:
  C10dBackend(
      const Membership& membership,
      c10::intrusive_ptr<Communicator> communicator,
      const Transport& transport)
      : rank_(membership.rank),
        size_(membership.size),
        local_rank_(membership.local_rank),
        timeout_(membership.timeout),
        transport_(transport),
        communicator_(std::move(communicator)),
        monitor_(
            membership.monitor_store,
            {.rank = membership.rank,
             .size = membership.size,
             .store_host = membership.store_host}) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }

  PendingCollective start_all_reduce_sum(torch::Tensor& tensor) override {
    if (tensor.numel() == 0) {
      return {};
    }
    const torch::NoGradGuard no_grad;
    const std::string operation = describe("all-reduce", tensor);
    torch::Tensor carried = to_transport(tensor);
    std::vector<torch::Tensor> tensors{carried};
    auto work =
        attempt(operation, [&] { return communicator_->allreduce(tensors); });
    return PendingCollective(
        [self = shared_from_this(), work, operation, tensor, carried] {
          self->attempt(operation, [&] { return work->wait(); });
          self->bring_back(carried, tensor);
        });
  }

  torch::Tensor all_gather_rows(
      const torch::Tensor& rows,
      const std::vector<std::int64_t>& row_counts) override {
    const torch::NoGradGuard no_grad;
    const std::int64_t most =
        *std::max_element(row_counts.begin(), row_counts.end());
    if (most == 0) {
      return rows;
    }
    // Blocks of equal size: c10d gathers no others on every backend.
    const torch::Tensor own = padded(to_transport(rows.contiguous()), most);
    std::vector<std::int64_t> shape = own.sizes().vec();
    shape[0] = most * size_;
    torch::Tensor all = torch::empty(shape, own.options());
    std::vector<torch::Tensor> blocks;
    for (int rank = 0; rank < size_; ++rank) {
      blocks.push_back(all.narrow(0, rank * most, most));
    }
    gather(describe("all-gather", rows), own, blocks);
    const bool equal = std::all_of(
        row_counts.begin(),
        row_counts.end(),
        [most](std::int64_t count) { return count == most; });
    if (!equal) {
      for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        blocks[rank] = blocks[rank].narrow(0, 0, row_counts[rank]);
      }
      all = torch::cat(blocks);
    }
    return all.to(rows.options());
  }

  void broadcast_(torch::Tensor& tensor, int root) override {
    const torch::NoGradGuard no_grad;
    const std::string operation = describe("broadcast", tensor);
    torch::Tensor carried = to_transport(tensor);
    std::vector<torch::Tensor> tensors{carried};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    attempt(operation, [&] {
      return communicator_->broadcast(tensors, options)->wait();
    });
    bring_back(carried, tensor);
  }

  [[nodiscard]] std::chrono::nanoseconds time_waited() const override {
    return std::chrono::nanoseconds(waited_ns_.load());
  }

  void announce_failure(const std::string& reason) override {
    monitor_.announce_failure(reason);
  }

 private:
  void gather(
      const std::string& operation,
      const torch::Tensor& own,
      const std::vector<torch::Tensor>& blocks) {
    std::vector<std::vector<torch::Tensor>> outputs{blocks};
    std::vector<torch::Tensor> inputs{own};
    attempt(operation, [&] {
      return communicator_->allgather(outputs, inputs)->wait();
    });
  }

  static torch::Tensor padded(const torch::Tensor& rows, std::int64_t count) {
    if (rows.size(0) == count) {
      return rows;
    }
    std::vector<std::int64_t> shape = rows.sizes().vec();
    shape[0] = count;
    torch::Tensor result = torch::zeros(shape, rows.options());
    result.narrow(0, 0, rows.size(0)).copy_(rows);
    return result;
  }

  [[nodiscard]] torch::Tensor to_transport(const torch::Tensor& tensor) const {
    const bool half = tensor.scalar_type() == torch::kFloat16 ||
                      tensor.scalar_type() == torch::kBFloat16;
    auto options = tensor.options().device(transport_.device);
    if (half && !transport_.half_precision) {
      options = options.dtype(torch::kFloat32);
    }
    return tensor.detach().to(options);
  }

  static void bring_back(
      const torch::Tensor& carried,
      const torch::Tensor& tensor) {
    if (carried.data_ptr() != tensor.data_ptr()) {
      const torch::NoGradGuard no_grad;
      tensor.detach().copy_(carried);
    }
  }

  // Calls c10d and turns its errors into one line that says whom to look at.
  template <class Call>
  std::invoke_result_t<Call> attempt(
      const std::string& operation,
      const Call& call) {
    const Waiting waiting(waited_ns_);
    try {
      return call();
    } catch (const std::exception& error) {
      const std::string verdict = monitor_.diagnose();
      fail(
          "rank ",
          rank_,
          " of ",
          size_,
          ": ",
          operation,
          " failed: ",
          verdict,
          " (time-out ",
          std::chrono::duration<double>(timeout_).count(),
          " s; see that rank's own message, its machine and the network "
          "between; c10d says: ",
          first_line(error.what()),
          ")");
    }
  }

  // Adds its own life's length to a total.
  class Waiting {
   public:
    explicit Waiting(std::atomic<std::int64_t>& total_ns) : total_(total_ns) {}
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Waiting(Waiting&&) = delete;
    Waiting& operator=(Waiting&&) = delete;
    ~Waiting() {
      total_ += std::chrono::nanoseconds(Clock::now() - start_).count();
    }

   private:
    using Clock = std::chrono::steady_clock;
    std::atomic<std::int64_t>& total_;
    Clock::time_point start_ = Clock::now();
  };

  int rank_;
  int size_;
  int local_rank_;
  std::chrono::milliseconds timeout_;
  Transport transport_;
  c10::intrusive_ptr<Communicator> communicator_;
  PeerMonitor monitor_;
  std::atomic<std::int64_t> waited_ns_{0};  // hooks wait in other threads
};

}  // namespace

std::shared_ptr<ProcessGroupBackend> make_backend(
    const Membership& membership,
    const c10::intrusive_ptr<Communicator>& communicator,
    const Transport& transport) {
  return std::make_shared<C10dBackend>(membership, communicator, transport);
}

}  // namespace barlow::dist::detail
