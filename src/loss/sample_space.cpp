// SPDX-License-Identifier: MIT

#include <algorithm>

#include "loss/columns.h"
#include "loss/cross_terms.h"
#include "loss/gram.h"
#include "loss/product.h"
#include "loss/product_blocks.h"

namespace barlow::detail {
namespace {

// What the products are made of, on this rank: n rows of the Gram matrices,
// and all rows of the views.
struct Factors {
  StandardizedViews views;
  NeedsGradient needs_gradient;
  ProductOperands all;           // [N, D]
  torch::Tensor gram_a, gram_b;  // [n, N]
};

// With this rank's share of N^2 times the sums of squares.
ProductBlock products_of_columns(
    const Factors& f,
    std::int64_t first_column,
    std::int64_t columns) {
  ProductBlock block;
  block.rows = f.gram_a.size(0);
  block.first_column = first_column;
  block.columns = columns;
  const auto part = [&](const torch::Tensor& matrix) {
    return matrix.narrow(1, first_column, columns);
  };
  if (f.needs_gradient[0]) {
    block.a_product = product(f.gram_b, part(f.all.a));
    block.a_squares = column_dots(part(f.views.a), block.a_product);
  }
  if (f.needs_gradient[1]) {
    block.b_product = product(f.gram_a, part(f.all.b));
    block.b_squares = column_dots(part(f.views.b), block.b_product);
  }
  return block;
}

void visit_column_blocks(const Factors& f, const ProductVisitor& visit) {
  const std::int64_t all = f.views.a.size(1);
  const std::int64_t samples = f.gram_a.size(0);
  const std::int64_t step = product_columns(samples);
  const auto squared = static_cast<double>(samples * samples);
  for (std::int64_t column = 0; column < all; column += step) {
    ProductBlock block =
        products_of_columns(f, column, std::min(step, all - column));
    for (torch::Tensor* squares : {&block.a_squares, &block.b_squares}) {
      if (squares->defined()) {
        squares->div_(squared);
      }
    }
    visit(block);
  }
}

// Adds up over ranks and divides what each has a share of, in one message.
void all_reduce_sums(
    torch::Tensor& square_sum,
    ProductBlock& block,
    double samples,
    const dist::ProcessGroup& group) {
  std::vector<torch::Tensor> sums{square_sum.unsqueeze(0)};
  for (const torch::Tensor& squares : {block.a_squares, block.b_squares}) {
    if (squares.defined()) {
      sums.push_back(squares);
    }
  }
  torch::Tensor packed = torch::cat(sums);
  group.all_reduce_sum_(packed);
  packed.div_(samples * samples);
  square_sum = packed[0];
  std::int64_t first = 1;
  for (torch::Tensor* squares : {&block.a_squares, &block.b_squares}) {
    if (squares->defined()) {
      *squares = packed.narrow(0, first, block.columns);
      first += block.columns;
    }
  }
}

}  // namespace

CrossTerms sample_space_terms(
    const StandardizedViews& views,
    torch::ScalarType product_type,
    const std::vector<std::int64_t>& row_counts,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group) {
  // Gloo carries no bfloat16: rounded after the exchange.
  Factors f{views, needs_gradient, {}, {}, {}};
  f.all.a = group.all_gather_rows(views.a, row_counts).to(product_type);
  f.all.b = group.all_gather_rows(views.b, row_counts).to(product_type);
  const ProductOperands own = product_operands(views, product_type);
  f.gram_a = gram_rows(own.a, f.all.a);
  f.gram_b = gram_rows(own.b, f.all.b);

  CrossTerms terms;
  terms.includes_diagonal = true;
  terms.square_sum = column_dots(f.gram_a, f.gram_b).sum();
  f.gram_a = f.gram_a.to(product_type);
  f.gram_b = f.gram_b.to(product_type);
  // Other ranks' sums travel before any product can be used: all at once then.
  ProductBlock whole;
  if (group.size() > 1) {
    whole = products_of_columns(f, 0, views.a.size(1));
  }
  all_reduce_sums(
      terms.square_sum,
      whole,
      static_cast<double>(f.all.a.size(0)),
      group);
  terms.visit_products =
      [=, alone = group.size() == 1](const ProductVisitor& visit) {
        if (alone) {
          visit_column_blocks(f, visit);
        } else {
          ProductBlock block = whole;
          visit(block);
        }
      };
  return terms;
}

}  // namespace barlow::detail
