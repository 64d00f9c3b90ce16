// SPDX-License-Identifier: MIT
//
// Elementwise work and column sums on [n, D] matrices: by loops of this
// library's own for float32 on a CPU, by LibTorch's operations for all else.
// Both ways agree to rounding. The loops' results do not depend on the number
// of threads. Sums are float64 but where it says otherwise.

#pragma once

#include <torch/types.h>

namespace barlow::detail {

/// Sums of one rank's rows about a pivot, x = z - pivot. LibTorch's way takes
/// these rows' mean for it. The loops take the first row, and so pass over the
/// matrices once: rounding then grows by the squared distance of the pivot from
/// the mean in units of the variance, which for one of the N rows is at most N.
struct PivotMoments {
  torch::Tensor pivots;  ///< [2, D] of a and b, float64; 0 where n = 0
  torch::Tensor sums;    ///< [5, D] of x_a, x_b, x_a^2, x_b^2, x_a x_b
};

/// a, b: [n, D], one dtype.
PivotMoments pivot_moments(const torch::Tensor& a, const torch::Tensor& b);

/// (z - shift) * scale + offset, contiguous, of shift's dtype; shift, scale and
/// offset [D]. The subtraction is rounded first: it is exact near the mean.
torch::Tensor shift_and_scale(
    const torch::Tensor& z,
    const torch::Tensor& shift,
    const torch::Tensor& scale,
    const torch::Tensor& offset);

/// Column sums of x * y (elementwise): [D].
torch::Tensor column_dots(const torch::Tensor& x, const torch::Tensor& y);

struct SquareSums {
  torch::Tensor by_row;
  torch::Tensor by_column;
};

/// Of a matrix. Squares are not negative, so sums of one block of rows in the
/// matrix's own dtype, as LibTorch takes them, lose no digits to cancellation;
/// between blocks they are float64.
SquareSums square_sums(const torch::Tensor& matrix);

/// What multiplies each column of three matrices: [D], their dtype.
struct Combination {
  torch::Tensor product;
  torch::Tensor other;
  torch::Tensor view;
};

struct CombinedView {
  torch::Tensor view;     ///< overwritten
  torch::Tensor product;  ///< undefined: the view stays as it is
  Combination factors;
};

/// view <- product * f.product + other * f.other + view * f.view for both views
/// at once, `other` being the other view as it was. `product` may be lost.
void combine_(CombinedView& a, CombinedView& b);

}  // namespace barlow::detail
