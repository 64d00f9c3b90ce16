// SPDX-License-Identifier: MIT

#include "loss/cross_terms.h"
#include "loss/row_chunks.h"

namespace barlow::detail {
namespace {

// Column sums of x * y (elementwise), float64.
torch::Tensor column_dots(const torch::Tensor& x, const torch::Tensor& y) {
  torch::Tensor dots =
      torch::zeros({x.size(1)}, x.options().dtype(torch::kFloat64));
  for_row_chunks(x, [&](std::int64_t first, std::int64_t rows) {
    dots += x.narrow(0, first, rows)
                .to(torch::kFloat64)
                .mul(y.narrow(0, first, rows))
                .sum(0);
  });
  return dots;
}

}  // namespace

CrossTerms sample_space_terms(
    const StandardizedViews& views,
    const std::vector<std::int64_t>& row_counts,
    const NeedsGradient& needs_gradient,
    const dist::ProcessGroup& group) {
  const torch::Tensor all_a = group.all_gather_rows(views.a, row_counts);
  const torch::Tensor all_b = group.all_gather_rows(views.b, row_counts);
  const torch::Tensor gram_a = torch::mm(views.a, all_a.t());  // rows of K_a
  const torch::Tensor gram_b = torch::mm(views.b, all_b.t());

  CrossTerms terms;
  terms.includes_diagonal = true;
  std::vector<torch::Tensor> sums{
      column_dots(gram_a, gram_b).sum().unsqueeze(0)};
  if (needs_gradient[0]) {
    terms.a_product = torch::mm(gram_b, all_a);
    sums.push_back(column_dots(views.a, terms.a_product));
  }
  if (needs_gradient[1]) {
    terms.b_product = torch::mm(gram_a, all_b);
    sums.push_back(column_dots(views.b, terms.b_product));
  }

  torch::Tensor packed = torch::cat(sums);
  group.all_reduce_sum_(packed);
  const double n = static_cast<double>(all_a.size(0));
  packed.div_(n * n);
  terms.square_sum = packed[0];
  const std::int64_t features = views.a.size(1);
  if (needs_gradient[0]) {
    terms.a_squares = packed.narrow(0, 1, features);
  }
  if (needs_gradient[1]) {
    terms.b_squares = packed.narrow(0, packed.size(0) - features, features);
  }
  return terms;
}

}  // namespace barlow::detail
