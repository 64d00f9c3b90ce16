// SPDX-License-Identifier: MIT

#include "loss/objective.h"

#include <numeric>

#include "loss/columns.h"

namespace barlow::detail {
namespace {

// The gradients, through the standardisation:
//
//     dL/dU = (2 lambda product / N + V diag(d)) / N
//     dL/dZ = scale (dL/dU - U s),   s_i = (2 lambda squares_i + d_i C_ii) / N
//
// for U a view, V the other, d the derivative by C_ii that `product` lacks.
struct Gradients {
  const StandardizedViews& views;  // overwritten
  torch::Tensor diagonal;          // d, [D] float64
  double samples = 0;
  double lambda = 0;
  double factor = 1;  // of the gradients

  void finish_(ProductBlock& block) const {
    CombinedView a{part(views.a, block), block.a_product, {}};
    CombinedView b{part(views.b, block), block.b_product, {}};
    if (block.a_product.defined()) {
      a.factors = factors(views.a_scale, block.a_squares, block);
    }
    if (block.b_product.defined()) {
      b.factors = factors(views.b_scale, block.b_squares, block);
    }
    combine_(a, b);
  }

 private:
  static torch::Tensor part(
      const torch::Tensor& view,
      const ProductBlock& block) {
    return view.narrow(0, block.first_row, block.rows)
        .narrow(1, block.first_column, block.columns);
  }

  // float64, rounded once.
  [[nodiscard]] Combination factors(
      const torch::Tensor& scale,
      const torch::Tensor& squares,
      const ProductBlock& block) const {
    const torch::ScalarType type = views.a.scalar_type();
    const auto columns = [&block](const torch::Tensor& row) {
      return row.narrow(0, block.first_column, block.columns);
    };
    const torch::Tensor share = columns(scale) * (factor / samples);
    const torch::Tensor derivative = columns(diagonal);
    const torch::Tensor projection =
        squares * (2 * lambda) + derivative * columns(views.correlation);
    return {
        (share * (2 * lambda / samples)).to(type),
        (share * derivative).to(type),
        (share * projection).neg_().to(type)};
  }
};

}  // namespace

Objective evaluate_objective(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const ObjectiveRequest& request) {
  const std::int64_t samples = std::accumulate(
      request.row_counts.begin(),
      request.row_counts.end(),
      std::int64_t{0});
  const StandardizedViews views = standardize(
      z_a,
      z_b,
      {.compute_type = request.plan.compute_type,
       .samples = samples,
       .variance_epsilon = request.options.variance_epsilon},
      request.group);
  const NeedsGradient& needs = request.needs_gradient;
  const torch::ScalarType product_type = request.plan.product_type;
  const CrossTerms terms = request.plan.path == LossPath::kFeatureSpace
                               ? feature_space_terms(
                                     views,
                                     product_type,
                                     samples,
                                     needs,
                                     request.group)
                               : sample_space_terms(
                                     views,
                                     product_type,
                                     request.row_counts,
                                     needs,
                                     request.group);

  const double lambda = request.options.lambda;
  const torch::Tensor& correlation = views.correlation;
  Objective result;
  result.constant_features = views.constant_features;
  result.invariance = (correlation - 1).square().sum();
  result.redundancy = terms.square_sum;
  torch::Tensor diagonal = 2 * (correlation - 1);
  if (terms.includes_diagonal) {
    result.redundancy =
        (terms.square_sum - correlation.square().sum()).clamp_min_(0);
    diagonal -= 2 * lambda * correlation;
  }
  result.total = result.invariance + lambda * result.redundancy;

  const double factor = static_cast<double>(request.group.size()) /
                        static_cast<double>(request.options.emulate_world_size);
  if (needs[0] || needs[1]) {
    const Gradients gradients{
        views,
        diagonal,
        static_cast<double>(samples),
        lambda,
        factor};
    terms.visit_products(
        [&gradients](ProductBlock& block) { gradients.finish_(block); });
    result.a_gradient = needs[0] ? views.a : torch::Tensor();
    result.b_gradient = needs[1] ? views.b : torch::Tensor();
  }
  return result;
}

}  // namespace barlow::detail
