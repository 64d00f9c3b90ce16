// SPDX-License-Identifier: MIT
//
// The part of the loss that pairs features, computed in either space.
//
// A and B are the standardised views, [n, D] on this rank, C = A^T B / N over
// all N rows of all ranks, and M is C (sample space) or C with a diagonal of 0
// (feature space).

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include <torch/types.h>

#include "barlow/dist/process_group.h"
#include "loss/standardize.h"

namespace barlow::detail {

/// Both views as factors of matrix products.
struct ProductOperands {
  torch::Tensor a;  ///< [n, D]
  torch::Tensor b;
};

/// Rounded to `type`; if that is the views' own, the same memory.
inline ProductOperands product_operands(
    const StandardizedViews& views,
    torch::ScalarType type) {
  return {views.a.to(type), views.b.to(type)};
}

/// Which views' gradients are wanted: {a, b}.
using NeedsGradient = std::array<bool, 2>;

/// A part of the matrices that the gradients are made of. Per view that needs a
/// gradient; undefined otherwise.
struct ProductBlock {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t first_column = 0;
  std::int64_t columns = 0;

  torch::Tensor a_product;  ///< [rows, columns] of N B M^T, the views' dtype
  torch::Tensor b_product;  ///< [rows, columns] of N A M
  torch::Tensor a_squares;  ///< [columns]       of sum_j M_ij^2, float64
  torch::Tensor b_squares;  ///< [columns]       of sum_i M_ij^2
};

/// May overwrite the block's products, and the same part of both views.
using ProductVisitor = std::function<void(ProductBlock&)>;

struct CrossTerms {
  bool includes_diagonal = false;  ///< whether M is C
  torch::Tensor square_sum;        ///< []  sum_ij M_ij^2, float64

  /// Visits blocks that cover the products without overlap, each when it is
  /// computed. Not collective; once only.
  std::function<void(const ProductVisitor&)> visit_products;
};

/// Forms C, its one D x D temporary. One all-reduce of D^2 numbers. Products
/// are computed by blocks of rows, from factors rounded to `product_type`.
CrossTerms feature_space_terms(
    const StandardizedViews& views,
    torch::ScalarType product_type,
    std::int64_t samples,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group);

/// Never forms C: with the Gram matrices K_a = A A^T and K_b = B B^T (N x N),
///
///     sum_ij C_ij^2 = <K_a, K_b> / N^2,  N B C^T = K_b A,  N A C = K_a B,
///
/// of which each rank computes its n rows. An all-gather of 2 N D numbers, and
/// one all-reduce of D float64 numbers per gradient and of 1 for the value. A
/// single process has the sums of its own columns, and computes the products
/// by blocks of columns.
CrossTerms sample_space_terms(
    const StandardizedViews& views,
    torch::ScalarType product_type,
    const std::vector<std::int64_t>& row_counts,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group);

}  // namespace barlow::detail
