// SPDX-License-Identifier: MIT
//
// Walks a matrix by blocks of rows, so that float64 temporaries stay small.

#pragma once

#include <algorithm>
#include <cstdint>

#include <torch/types.h>

namespace barlow::detail {

/// Calls visit(first_row, rows) for consecutive blocks of `matrix`.
///
/// 2^16 elements on a CPU: a float64 temporary of 512 KiB stays in a core's
/// second-level cache. 2^24 elsewhere: 128 MiB, few enough kernel launches.
template <class Visitor>
void for_row_chunks(const torch::Tensor& matrix, const Visitor& visit) {
  const std::int64_t elements =
      matrix.device().is_cpu() ? std::int64_t{1} << 16 : std::int64_t{1} << 24;
  const std::int64_t rows = matrix.size(0);
  const std::int64_t step =
      std::max<std::int64_t>(elements / matrix.size(1), 1);
  for (std::int64_t first = 0; first < rows; first += step) {
    visit(first, std::min(step, rows - first));
  }
}

}  // namespace barlow::detail
