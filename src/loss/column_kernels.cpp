// SPDX-License-Identifier: MIT

#include "loss/column_kernels.h"

#include <algorithm>
#include <vector>

#include <ATen/Parallel.h>

#include "core/vector_clones.h"

namespace barlow::detail {
namespace {

// The sums and pivots of a block's columns stay in the first-level cache: 7 x
// 512 x 8 bytes, 28 KiB. They are read and written once for a group of rows.
constexpr std::int64_t kBlockColumns = 512;
constexpr std::int64_t kGroupRows = 8;
// What a thread should at least have to do, in elements.
constexpr std::int64_t kGrain = 1 << 16;

// A block of columns of a matrix.
struct Block {
  std::int64_t rows;
  std::int64_t width;
  std::int64_t stride;  // from a row to the next
};

// Calls visit(first_column, Block) for blocks of columns, in parallel. Blocks
// are narrower where there would be too few for the threads; as a column's sum
// does not depend on its block, nor does any result.
template <class Visitor>
void for_column_blocks(const MatrixSize& size, const Visitor& visit) {
  constexpr std::int64_t kCacheLine = 16;  // floats
  const std::int64_t per_thread =
      (size.columns / at::get_num_threads() + kCacheLine) / kCacheLine *
      kCacheLine;
  const std::int64_t width = std::min(kBlockColumns, per_thread);
  const std::int64_t blocks = (size.columns + width - 1) / width;
  const std::int64_t grain =
      std::max<std::int64_t>(kGrain / (width * std::max(size.rows, width)), 1);
  at::parallel_for(0, blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * width;
      visit(
          first,
          Block{
              size.rows,
              std::min(width, size.columns - first),
              size.columns});
    }
  });
}

// Of one block of columns, from where the compiler sees that nothing overlaps.
struct BlockMoments {
  alignas(64) double pivot_a[kBlockColumns];
  alignas(64) double pivot_b[kBlockColumns];
  alignas(64) double a[kBlockColumns];
  alignas(64) double b[kBlockColumns];
  alignas(64) double aa[kBlockColumns];
  alignas(64) double bb[kBlockColumns];
  alignas(64) double ab[kBlockColumns];
};

template <int kRows>
BARLOW_INLINE inline void add_moments_of_rows(
    const float* a,
    const float* b,
    BlockMoments& m,
    const Block& block) {
  for (std::int64_t j = 0; j < block.width; ++j) {
    double sum_a = m.a[j];
    double sum_b = m.b[j];
    double sum_aa = m.aa[j];
    double sum_bb = m.bb[j];
    double sum_ab = m.ab[j];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const double x =
          static_cast<double>(a[r * block.stride + j]) - m.pivot_a[j];
      const double y =
          static_cast<double>(b[r * block.stride + j]) - m.pivot_b[j];
      sum_a += x;
      sum_b += y;
      sum_aa += x * x;
      sum_bb += y * y;
      sum_ab += x * y;
    }
    m.a[j] = sum_a;
    m.b[j] = sum_b;
    m.aa[j] = sum_aa;
    m.bb[j] = sum_bb;
    m.ab[j] = sum_ab;
  }
}

BARLOW_VECTOR_CLONES
void add_moments(
    const float* a,
    const float* b,
    const double* pivots,
    double* sums,
    const Block& block) {
  BlockMoments m{};
  std::copy_n(pivots, block.width, m.pivot_a);
  std::copy_n(pivots + block.stride, block.width, m.pivot_b);
  std::int64_t row = 0;
  for (; row + kGroupRows <= block.rows; row += kGroupRows) {
    const std::int64_t first = row * block.stride;
    add_moments_of_rows<kGroupRows>(a + first, b + first, m, block);
  }
  for (; row < block.rows; ++row) {
    const std::int64_t first = row * block.stride;
    add_moments_of_rows<1>(a + first, b + first, m, block);
  }
  for (const double* of_one : {m.a, m.b, m.aa, m.bb, m.ab}) {
    std::copy_n(of_one, block.width, sums);
    sums += block.stride;
  }
}

template <int kRows>
BARLOW_INLINE inline void add_products_of_rows(
    const RowsView& x,
    const RowsView& y,
    double* __restrict sums,
    std::int64_t width) {
  for (std::int64_t j = 0; j < width; ++j) {
    double sum = sums[j];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      sum += static_cast<double>(x.data[r * x.stride + j]) *
             static_cast<double>(y.data[r * y.stride + j]);
    }
    sums[j] = sum;
  }
}

BARLOW_VECTOR_CLONES
void add_products(
    const RowsView& x,
    const RowsView& y,
    double* sums,
    const Block& block) {
  std::int64_t row = 0;
  for (; row + kGroupRows <= block.rows; row += kGroupRows) {
    add_products_of_rows<kGroupRows>(
        {x.data + row * x.stride, x.stride},
        {y.data + row * y.stride, y.stride},
        sums,
        block.width);
  }
  for (; row < block.rows; ++row) {
    add_products_of_rows<1>(
        {x.data + row * x.stride, x.stride},
        {y.data + row * y.stride, y.stride},
        sums,
        block.width);
  }
}

// by_column += row^2; returns the sum of row^2, by lanes for the sake of
// vectors.
BARLOW_INLINE inline double add_squares_of_row(
    const float* __restrict row,
    double* __restrict by_column,
    std::int64_t width) {
  constexpr std::int64_t kLanes = 16;
  double lanes[kLanes] = {};
  std::int64_t j = 0;
  for (; j + kLanes <= width; j += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(row[j + lane]);
      by_column[j + lane] += value * value;
      lanes[lane] += value * value;
    }
  }
  for (std::int64_t lane = 0; j + lane < width; ++lane) {
    const double value = static_cast<double>(row[j + lane]);
    by_column[j + lane] += value * value;
    lanes[lane] += value * value;
  }
  double sum = 0;
  for (const double lane : lanes) {
    sum += lane;
  }
  return sum;
}

BARLOW_VECTOR_CLONES
void add_squares(
    const float* matrix,
    double* by_row,
    double* by_column,
    const Block& block) {
  for (std::int64_t row = 0; row < block.rows; ++row) {
    by_row[row] =
        add_squares_of_row(matrix + row * block.stride, by_column, block.width);
  }
}

}  // namespace

void sum_moments(
    const float* a,
    const float* b,
    const double* pivots,
    double* sums,
    MatrixSize size) {
  for_column_blocks(size, [&](std::int64_t first, const Block& block) {
    add_moments(a + first, b + first, pivots + first, sums + first, block);
  });
}

void sum_products(
    const RowsView& x,
    const RowsView& y,
    double* sums,
    MatrixSize size) {
  std::fill_n(sums, size.columns, 0.0);
  for_column_blocks(size, [&](std::int64_t first, const Block& block) {
    add_products(
        {x.data + first, x.stride},
        {y.data + first, y.stride},
        sums + first,
        block);
  });
}

void sum_squares(
    const float* matrix,
    double* by_row,
    double* by_column,
    MatrixSize size) {
  // Of fixed width, since a row's sum depends on where it is cut.
  constexpr std::int64_t kWidth = 128;
  const std::int64_t blocks = (size.columns + kWidth - 1) / kWidth;
  std::fill_n(by_column, size.columns, 0.0);
  std::vector<double> parts(static_cast<std::size_t>(blocks * size.rows));
  const std::int64_t grain = std::max<std::int64_t>(
      kGrain / (kWidth * std::max<std::int64_t>(size.rows, 1)),
      1);
  at::parallel_for(0, blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kWidth;
      add_squares(
          matrix + first,
          parts.data() + block * size.rows,
          by_column + first,
          Block{
              size.rows,
              std::min(kWidth, size.columns - first),
              size.columns});
    }
  });
  std::fill_n(by_row, size.rows, 0.0);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const double* part = parts.data() + block * size.rows;
    for (std::int64_t row = 0; row < size.rows; ++row) {
      by_row[row] += part[row];
    }
  }
}

}  // namespace barlow::detail
