// SPDX-License-Identifier: MIT

#include <algorithm>

#include <ATen/Parallel.h>

#include "core/vector_clones.h"
#include "loss/column_kernels.h"

namespace barlow::detail {
namespace {

// What a thread should at least have to do, in elements.
constexpr std::int64_t kGrain = 1 << 16;

BARLOW_VECTOR_CLONES
void shift_and_scale_row(
    const float* __restrict z,
    const ShiftAndScale& by,
    float* __restrict out,
    std::int64_t columns) {
  const float* __restrict shift = by.shift;
  const float* __restrict scale = by.scale;
  const float* __restrict offset = by.offset;
  for (std::int64_t j = 0; j < columns; ++j) {
    out[j] = (z[j] - shift[j]) * scale[j] + offset[j];
  }
}

BARLOW_VECTOR_CLONES
void combine_row(
    float* __restrict view,
    const float* __restrict other,
    const float* __restrict product,
    const CombinationFactors& by,
    std::int64_t columns) {
  const float* __restrict of_product = by.product;
  const float* __restrict of_other = by.other;
  const float* __restrict of_view = by.view;
  for (std::int64_t j = 0; j < columns; ++j) {
    view[j] = product[j] * of_product[j] + other[j] * of_other[j] +
              view[j] * of_view[j];
  }
}

// The views' row each from the other's old one.
BARLOW_VECTOR_CLONES
void combine_both_rows(
    float* __restrict a,
    float* __restrict b,
    const float* __restrict a_product,
    const float* __restrict b_product,
    const std::array<CombinationFactors, 2>& by,
    std::int64_t columns) {
  const float* __restrict a_of_product = by[0].product;
  const float* __restrict a_of_other = by[0].other;
  const float* __restrict a_of_view = by[0].view;
  const float* __restrict b_of_product = by[1].product;
  const float* __restrict b_of_other = by[1].other;
  const float* __restrict b_of_view = by[1].view;
  for (std::int64_t j = 0; j < columns; ++j) {
    const float x = a[j];
    const float y = b[j];
    a[j] =
        a_product[j] * a_of_product[j] + y * a_of_other[j] + x * a_of_view[j];
    b[j] =
        b_product[j] * b_of_product[j] + x * b_of_other[j] + y * b_of_view[j];
  }
}

template <class Visitor>
void for_rows(const MatrixSize& size, const Visitor& visit) {
  const std::int64_t grain = std::max<std::int64_t>(kGrain / size.columns, 1);
  at::parallel_for(
      0,
      size.rows,
      grain,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
          visit(row);
        }
      });
}

}  // namespace

void shift_and_scale(
    const float* z,
    const ShiftAndScale& by,
    float* out,
    MatrixSize size) {
  for_rows(size, [&](std::int64_t row) {
    const std::int64_t first = row * size.columns;
    shift_and_scale_row(z + first, by, out + first, size.columns);
  });
}

void combine(const CombinedRows& a, const CombinedRows& b, MatrixSize size) {
  for_rows(size, [&](std::int64_t row) {
    float* a_row = a.view + row * a.stride;
    float* b_row = b.view + row * b.stride;
    const auto product_row = [row](const CombinedRows& of) {
      return of.product.data + row * of.product.stride;
    };
    if (a.product.data != nullptr && b.product.data != nullptr) {
      combine_both_rows(
          a_row,
          b_row,
          product_row(a),
          product_row(b),
          {a.factors, b.factors},
          size.columns);
    } else if (a.product.data != nullptr) {
      combine_row(a_row, b_row, product_row(a), a.factors, size.columns);
    } else if (b.product.data != nullptr) {
      combine_row(b_row, a_row, product_row(b), b.factors, size.columns);
    }
  });
}

}  // namespace barlow::detail
