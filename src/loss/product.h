// SPDX-License-Identifier: MIT
//
// The matrix products of the loss.

#pragma once

#include <torch/types.h>

namespace barlow::detail {

/// x y for matrices of one type: float64 and float32 give their own, bfloat16
/// gives float32.
///
/// Of bfloat16 operands each product is summed in float32 and rounded to
/// bfloat16 once: LibTorch offers no wider result. Where the processor has no
/// arithmetic for them (before AVX-512), the operands are widened and
/// multiplied in float32, since LibTorch's own loops would be a hundred times
/// slower.
[[nodiscard]] torch::Tensor product(
    const torch::Tensor& x,
    const torch::Tensor& y);

}  // namespace barlow::detail
