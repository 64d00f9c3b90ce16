// SPDX-License-Identifier: MIT

#include "loss/cross_terms.h"
#include "loss/row_chunks.h"

namespace barlow::detail {
namespace {

// Sums of squares by row and by column, in one walk over the matrix. Squares
// are not negative, so sums of one chunk in the matrix's own dtype lose no
// digits to cancellation; between chunks and over features they are float64.
void sum_squares(
    const torch::Tensor& matrix,
    torch::Tensor& by_row,
    torch::Tensor& by_column) {
  const auto options = matrix.options().dtype(torch::kFloat64);
  by_row = torch::empty({matrix.size(0)}, options);
  by_column = torch::zeros({matrix.size(1)}, options);
  for_row_chunks(matrix, [&](std::int64_t first, std::int64_t rows) {
    const torch::Tensor squares = matrix.narrow(0, first, rows).square();
    by_row.narrow(0, first, rows).copy_(squares.sum(1));
    by_column.add_(squares.sum(0));
  });
}

}  // namespace

CrossTerms feature_space_terms(
    const StandardizedViews& views,
    std::int64_t samples,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group) {
  torch::Tensor products = torch::mm(views.a.t(), views.b);  // N C
  group.all_reduce_sum_(products);
  // The diagonal is known in float64. Without it the sums below are those of
  // the redundancy term itself, not small differences.
  products.fill_diagonal_(0);

  CrossTerms terms;
  sum_squares(products, terms.a_squares, terms.b_squares);
  const double n = static_cast<double>(samples);
  terms.a_squares.div_(n * n);
  terms.b_squares.div_(n * n);
  terms.square_sum = terms.a_squares.sum();
  if (needs_gradient[0]) {
    terms.a_product = torch::mm(views.b, products.t());
  }
  if (needs_gradient[1]) {
    terms.b_product = torch::mm(views.a, products);
  }
  return terms;
}

}  // namespace barlow::detail
