// SPDX-License-Identifier: MIT

#include "loss/objective.h"

#include <numeric>

namespace barlow::detail {
namespace {

// One view's gradient, through its standardisation:
//
//     dL/dU = (2 lambda product / N + V diag(d)) / N
//     dL/dZ = scale (dL/dU - U s),   s_i = (2 lambda squares_i + d_i C_ii) / N
//
// for U the view, V the other, d the derivative by C_ii that `product` lacks.
struct ViewGradient {
  const torch::Tensor& view;
  const torch::Tensor& other;
  const torch::Tensor& scale;
  const torch::Tensor& squares;
  const torch::Tensor& diagonal;
  const torch::Tensor& correlation;

  // Overwrites and returns `product`; `factor` multiplies the gradient.
  torch::Tensor finish_(
      torch::Tensor product,
      double samples,
      double lambda,
      double factor) const {
    // float64 rows, rounded once; the n x D matrices are walked three times.
    const torch::ScalarType type = product.scalar_type();
    const torch::Tensor share = scale * (factor / samples);
    const torch::Tensor projection =
        squares * (2 * lambda) + diagonal * correlation;
    product.mul_((share * (2 * lambda / samples)).to(type));
    product.addcmul_(other, (share * diagonal).to(type));
    product.addcmul_(view, (share * projection).neg_().to(type));
    return product;
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
  CrossTerms terms =
      request.plan.path == LossPath::kFeatureSpace
          ? feature_space_terms(views, samples, needs, request.group)
          : sample_space_terms(views, request.row_counts, needs, request.group);

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
  const double n = static_cast<double>(samples);
  if (needs[0]) {
    result.a_gradient =
        ViewGradient{
            views.a,
            views.b,
            views.a_scale,
            terms.a_squares,
            diagonal,
            correlation}
            .finish_(terms.a_product, n, lambda, factor);
  }
  if (needs[1]) {
    result.b_gradient =
        ViewGradient{
            views.b,
            views.a,
            views.b_scale,
            terms.b_squares,
            diagonal,
            correlation}
            .finish_(terms.b_product, n, lambda, factor);
  }
  return result;
}

}  // namespace barlow::detail
