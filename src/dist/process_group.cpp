// SPDX-License-Identifier: MIT

#include "barlow/dist/process_group.h"

#include <cstring>

#include <c10/util/Exception.h>

namespace barlow::dist {
namespace {

void check_contiguous(const char* operation, const torch::Tensor& tensor) {
  TORCH_CHECK_VALUE(
      tensor.is_contiguous(),
      operation,
      ": tensor must be contiguous, got strides ",
      tensor.strides());
}

// [length, 1] bytes: texts travel as rows.
torch::Tensor to_rows(const std::string& text) {
  torch::Tensor rows =
      torch::empty({static_cast<std::int64_t>(text.size()), 1}, torch::kUInt8);
  if (!text.empty()) {
    std::memcpy(rows.data_ptr(), text.data(), text.size());
  }
  return rows;
}

std::string to_text(const torch::Tensor& rows) {
  const torch::Tensor bytes = rows.contiguous();
  return bytes.numel() == 0 ? std::string()
                            : std::string(
                                  static_cast<const char*>(bytes.data_ptr()),
                                  static_cast<std::size_t>(bytes.numel()));
}

}  // namespace

void PendingCollective::wait() {
  if (wait_) {
    const std::function<void()> wait = std::exchange(wait_, nullptr);
    wait();
  }
}

void ProcessGroup::all_reduce_sum_(torch::Tensor& tensor) const {
  start_all_reduce_sum(tensor).wait();
}

PendingCollective ProcessGroup::start_all_reduce_sum(
    torch::Tensor tensor) const {
  check_contiguous("all_reduce_sum", tensor);
  return backend_ ? backend_->start_all_reduce_sum(tensor)
                  : PendingCollective();
}

torch::Tensor ProcessGroup::all_gather_rows(
    const torch::Tensor& rows,
    const std::vector<std::int64_t>& row_counts) const {
  TORCH_CHECK_VALUE(
      static_cast<int>(row_counts.size()) == size() &&
          row_counts[static_cast<std::size_t>(rank())] == rows.size(0),
      "all_gather_rows: row_counts must hold every rank's number of rows");
  return backend_ ? backend_->all_gather_rows(rows, row_counts) : rows;
}

std::vector<std::int64_t> ProcessGroup::gather_counts(
    std::int64_t count) const {
  // A sum of one-hot vectors: every backend has it, also where tensors of one
  // integer a rank cannot be gathered.
  torch::Tensor counts = torch::zeros({size()}, torch::kInt64);
  counts[rank()] = count;
  all_reduce_sum_(counts);
  const std::int64_t* begin = counts.data_ptr<std::int64_t>();
  return {begin, begin + counts.numel()};
}

std::vector<std::string> ProcessGroup::gather_texts(
    const std::string& text) const {
  const std::vector<std::int64_t> lengths =
      gather_counts(static_cast<std::int64_t>(text.size()));
  const torch::Tensor all = all_gather_rows(to_rows(text), lengths);
  std::vector<std::string> texts;
  std::int64_t first = 0;
  for (const std::int64_t length : lengths) {
    texts.push_back(to_text(all.narrow(0, first, length)));
    first += length;
  }
  return texts;
}

void ProcessGroup::broadcast_(torch::Tensor& tensor, int root) const {
  check_contiguous("broadcast", tensor);
  TORCH_CHECK_VALUE(
      root >= 0 && root < size(),
      "broadcast: root must be in [0, ",
      size(),
      "), got ",
      root);
  if (backend_ && tensor.numel() > 0) {
    backend_->broadcast_(tensor, root);
  }
}

std::string ProcessGroup::broadcast_text(const std::string& text, int root)
    const {
  torch::Tensor length =
      torch::full({1}, static_cast<std::int64_t>(text.size()), torch::kInt64);
  broadcast_(length, root);
  torch::Tensor rows =
      rank() == root
          ? to_rows(text)
          : torch::empty({length.item<std::int64_t>(), 1}, torch::kUInt8);
  broadcast_(rows, root);
  return to_text(rows);
}

void ProcessGroup::announce_failure(const std::string& reason) const noexcept {
  if (backend_) {
    try {
      backend_->announce_failure(reason);
    } catch (const std::exception&) {
      // The peers then learn of it by this rank's silence.
    }
  }
}

}  // namespace barlow::dist
