// SPDX-License-Identifier: MIT
//
// The loss's loops over matrices of float32 on a CPU. All sums are float64,
// taken down each column in row order, so that no result depends on the number
// of threads.

#pragma once

#include <array>
#include <cstdint>

namespace barlow::detail {

struct MatrixSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// A matrix whose rows are `stride` numbers apart.
struct RowsView {
  const float* data = nullptr;
  std::int64_t stride = 0;
};

/// Sums of x_a, x_b, x_a^2, x_b^2 and x_a x_b for x = z - pivot.
///
///     a, b     [rows, columns]   stride = columns
///     pivots   [2, columns]      of a, then of b
///     sums     [5, columns]      overwritten
void sum_moments(
    const float* a,
    const float* b,
    const double* pivots,
    double* sums,
    MatrixSize size);

/// Column sums of x * y: [columns], overwritten.
void sum_products(
    const RowsView& x,
    const RowsView& y,
    double* sums,
    MatrixSize size);

/// Sums of squares: [rows] and [columns], overwritten. stride = columns.
void sum_squares(
    const float* matrix,
    double* by_row,
    double* by_column,
    MatrixSize size);

/// Of each column.
struct ShiftAndScale {
  const float* shift = nullptr;
  const float* scale = nullptr;
  const float* offset = nullptr;
};

/// out = (z - shift) * scale + offset, stride = columns.
void shift_and_scale(
    const float* z,
    const ShiftAndScale& by,
    float* out,
    MatrixSize size);

/// What multiplies each column of three matrices.
struct CombinationFactors {
  const float* product = nullptr;
  const float* other = nullptr;
  const float* view = nullptr;
};

struct CombinedRows {
  float* view = nullptr;
  std::int64_t stride = 0;
  RowsView product;  ///< without data: the view stays as it is
  CombinationFactors factors;
};

/// view = product * f.product + other * f.other + view * f.view for both views
/// at once, `other` being the other view as it was.
void combine(const CombinedRows& a, const CombinedRows& b, MatrixSize size);

}  // namespace barlow::detail
