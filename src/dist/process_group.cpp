// SPDX-License-Identifier: MIT

#include "barlow/dist/process_group.h"

#include <c10/util/Exception.h>

namespace barlow::dist {

void ProcessGroup::all_reduce_sum_(torch::Tensor& tensor) const {
  TORCH_CHECK_VALUE(
      tensor.is_contiguous(),
      "all_reduce_sum_: tensor must be contiguous, got strides ",
      tensor.strides());
  if (backend_) {
    backend_->all_reduce_sum_(tensor);
  }
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
  if (backend_) {
    backend_->all_reduce_sum_(counts);
  }
  const std::int64_t* begin = counts.data_ptr<std::int64_t>();
  return {begin, begin + counts.numel()};
}

}  // namespace barlow::dist
