// SPDX-License-Identifier: MIT
//
// In what parts the gradients' products are computed: small, so that they stay
// in cache between being computed and being used, yet so large that reading the
// square matrix anew for each costs a few percent of its arithmetic.

#pragma once

#include <algorithm>
#include <cstdint>

namespace barlow::detail {

/// Rows of a block in feature space.
inline constexpr std::int64_t kProductRows = 1024;

/// Columns of a block in sample space, single process: about 2^18 numbers.
inline std::int64_t product_columns(std::int64_t samples) {
  return std::max<std::int64_t>((1 << 18) / samples, 512);
}

}  // namespace barlow::detail
