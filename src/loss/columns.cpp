// SPDX-License-Identifier: MIT

#include "loss/columns.h"

#include <initializer_list>
#include <utility>

#include "loss/column_kernels.h"
#include "loss/row_chunks.h"

namespace barlow::detail {
namespace {

bool is_float32_on_cpu(const torch::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.scalar_type() == torch::kFloat32;
}

bool have_kernels(std::initializer_list<torch::Tensor> tensors) {
  for (const torch::Tensor& tensor : tensors) {
    if (!is_float32_on_cpu(tensor) || !tensor.is_contiguous()) {
      return false;
    }
  }
  return true;
}

// Whether the rows of a matrix are contiguous, and apart from each other.
bool has_dense_rows(const torch::Tensor& matrix) {
  return (matrix.size(1) == 1 || matrix.stride(1) == 1) &&
         (matrix.size(0) <= 1 || matrix.stride(0) >= matrix.size(1));
}

RowsView rows_of(const torch::Tensor& matrix) {
  return {matrix.data_ptr<float>(), matrix.stride(0)};
}

MatrixSize size_of(const torch::Tensor& matrix) {
  return {matrix.size(0), matrix.size(1)};
}

torch::Tensor float64_like(
    const torch::Tensor& matrix,
    std::initializer_list<std::int64_t> shape) {
  return torch::zeros(shape, matrix.options().dtype(torch::kFloat64));
}

bool has_kernels(const CombinedView& of) {
  return is_float32_on_cpu(of.view) && has_dense_rows(of.view) &&
         (!of.product.defined() ||
          (is_float32_on_cpu(of.product) && has_dense_rows(of.product) &&
           have_kernels(
               {of.factors.product, of.factors.other, of.factors.view})));
}

CombinedRows combined_rows(const CombinedView& of) {
  CombinedRows rows{
      of.view.data_ptr<float>(),
      of.view.stride(0),
      RowsView(),
      CombinationFactors()};
  if (of.product.defined()) {
    rows.product = rows_of(of.product);
    rows.factors = {
        of.factors.product.data_ptr<float>(),
        of.factors.other.data_ptr<float>(),
        of.factors.view.data_ptr<float>()};
  }
  return rows;
}

}  // namespace

PivotMoments pivot_moments(const torch::Tensor& a, const torch::Tensor& b) {
  const std::int64_t features = a.size(1);
  PivotMoments moments{
      float64_like(a, {2, features}),
      float64_like(a, {5, features})};
  if (a.size(0) == 0) {
    return moments;
  }
  torch::Tensor& sums = moments.sums;
  if (have_kernels({a, b})) {
    moments.pivots[0] = a[0];
    moments.pivots[1] = b[0];
    sum_moments(
        a.data_ptr<float>(),
        b.data_ptr<float>(),
        moments.pivots.data_ptr<double>(),
        sums.data_ptr<double>(),
        size_of(a));
    return moments;
  }
  for_row_chunks(a, [&](std::int64_t first, std::int64_t rows) {
    const auto sum_of = [&](const torch::Tensor& z) {
      return z.narrow(0, first, rows).to(torch::kFloat64).sum(0);
    };
    moments.pivots[0] += sum_of(a);
    moments.pivots[1] += sum_of(b);
  });
  moments.pivots.div_(static_cast<double>(a.size(0)));
  for_row_chunks(a, [&](std::int64_t first, std::int64_t rows) {
    const torch::Tensor x = a.narrow(0, first, rows) - moments.pivots[0];
    const torch::Tensor y = b.narrow(0, first, rows) - moments.pivots[1];
    sums[0] += x.sum(0);
    sums[1] += y.sum(0);
    sums[2] += x.mul(x).sum(0);
    sums[3] += y.mul(y).sum(0);
    sums[4] += x.mul(y).sum(0);
  });
  return moments;
}

torch::Tensor shift_and_scale(
    const torch::Tensor& z,
    const torch::Tensor& shift,
    const torch::Tensor& scale,
    const torch::Tensor& offset) {
  if (have_kernels({z, shift, scale, offset})) {
    torch::Tensor out = torch::empty_like(z);
    shift_and_scale(
        z.data_ptr<float>(),
        {shift.data_ptr<float>(),
         scale.data_ptr<float>(),
         offset.data_ptr<float>()},
        out.data_ptr<float>(),
        size_of(z));
    return out;
  }
  torch::Tensor out = (z - shift).contiguous();
  torch::addcmul_out(out, offset, out, scale);
  return out;
}

torch::Tensor column_dots(const torch::Tensor& x, const torch::Tensor& y) {
  torch::Tensor dots = float64_like(x, {x.size(1)});
  if (is_float32_on_cpu(x) && is_float32_on_cpu(y) && has_dense_rows(x) &&
      has_dense_rows(y)) {
    sum_products(rows_of(x), rows_of(y), dots.data_ptr<double>(), size_of(x));
    return dots;
  }
  for_row_chunks(x, [&](std::int64_t first, std::int64_t rows) {
    dots += x.narrow(0, first, rows)
                .to(torch::kFloat64)
                .mul(y.narrow(0, first, rows))
                .sum(0);
  });
  return dots;
}

SquareSums square_sums(const torch::Tensor& matrix) {
  SquareSums sums{
      float64_like(matrix, {matrix.size(0)}),
      float64_like(matrix, {matrix.size(1)})};
  if (have_kernels({matrix})) {
    sum_squares(
        matrix.data_ptr<float>(),
        sums.by_row.data_ptr<double>(),
        sums.by_column.data_ptr<double>(),
        size_of(matrix));
    return sums;
  }
  for_row_chunks(matrix, [&](std::int64_t first, std::int64_t rows) {
    const torch::Tensor squares = matrix.narrow(0, first, rows).square();
    sums.by_row.narrow(0, first, rows).copy_(squares.sum(1));
    sums.by_column.add_(squares.sum(0));
  });
  return sums;
}

void combine_(CombinedView& a, CombinedView& b) {
  if (has_kernels(a) && has_kernels(b)) {
    combine(combined_rows(a), combined_rows(b), size_of(a.view));
    return;
  }
  for (const auto& [view, other] : {std::pair{&a, &b}, {&b, &a}}) {
    if (view->product.defined()) {
      view->product.mul_(view->factors.product)
          .addcmul_(other->view, view->factors.other)
          .addcmul_(view->view, view->factors.view);
    }
  }
  for (CombinedView* of : {&a, &b}) {
    if (of->product.defined()) {
      of->view.copy_(of->product);
    }
  }
}

}  // namespace barlow::detail
