// SPDX-License-Identifier: MIT

#include <algorithm>

#include "loss/columns.h"
#include "loss/cross_terms.h"
#include "loss/product.h"
#include "loss/product_blocks.h"

namespace barlow::detail {
namespace {

void visit_row_blocks(
    const ProductOperands& views,
    const NeedsGradient& needs_gradient,
    const torch::Tensor& products,
    const ProductBlock& whole,
    const ProductVisitor& visit) {
  const std::int64_t all_rows = views.a.size(0);
  for (std::int64_t row = 0; row < all_rows; row += kProductRows) {
    ProductBlock block = whole;
    block.first_row = row;
    block.rows = std::min(kProductRows, all_rows - row);
    if (needs_gradient[0]) {
      block.a_product =
          product(views.b.narrow(0, row, block.rows), products.t());
    }
    if (needs_gradient[1]) {
      block.b_product = product(views.a.narrow(0, row, block.rows), products);
    }
    visit(block);
  }
}

}  // namespace

CrossTerms feature_space_terms(
    const StandardizedViews& views,
    torch::ScalarType product_type,
    std::int64_t samples,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group) {
  const ProductOperands operands = product_operands(views, product_type);
  torch::Tensor products = product(operands.a.t(), operands.b);  // N C
  group.all_reduce_sum_(products);
  // The diagonal is known in float64. Without it the sums below are those of
  // the redundancy term itself, not small differences.
  products.fill_diagonal_(0);

  const double n = static_cast<double>(samples);
  const SquareSums sums = square_sums(products);
  ProductBlock whole;
  whole.columns = views.a.size(1);
  whole.a_squares = sums.by_row / (n * n);
  whole.b_squares = sums.by_column / (n * n);

  products = products.to(product_type);
  CrossTerms terms;
  terms.square_sum = whole.a_squares.sum();
  terms.visit_products = [=](const ProductVisitor& visit) {
    visit_row_blocks(operands, needs_gradient, products, whole, visit);
  };
  return terms;
}

}  // namespace barlow::detail
