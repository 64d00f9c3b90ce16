// SPDX-License-Identifier: MIT
//
// Rows of a Gram matrix.

#pragma once

#include <torch/types.h>

namespace barlow::detail {

/// rows all^T: [n, N] for rows [n, D] of all [N, D]. If they are all the rows,
/// n = N, the matrix is symmetric, and on a CPU little more than half of it is
/// computed (not of bfloat16 rows, whose products are too fast for small
/// blocks). Float32 for bfloat16 rows.
torch::Tensor gram_rows(const torch::Tensor& rows, const torch::Tensor& all);

}  // namespace barlow::detail
