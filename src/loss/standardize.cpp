// SPDX-License-Identifier: MIT

#include "loss/standardize.h"

#include "loss/columns.h"

namespace barlow::detail {
namespace {

// A standardised feature of this share of variance_epsilon has variance 1e-3,
// so its correlations are at most sqrt(1e-3) = 0.032.
constexpr double kConstantShare = 1e-3;

// Sums over the global batch, float64.
struct GlobalSums {
  torch::Tensor means;    // [2, D] of a and b
  torch::Tensor moments;  // [3, D] means of x_a^2, x_b^2 and x_a x_b
};

// x = z - origin, with the means rounded to `type` as the origin.
GlobalSums global_sums(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const StandardizeOptions& options,
    const dist::ProcessGroup& group) {
  const PivotMoments local = pivot_moments(z_a, z_b);
  const auto rows = static_cast<double>(z_a.size(0));
  const auto samples = static_cast<double>(options.samples);
  const torch::Tensor first = local.sums.narrow(0, 0, 2);
  // Exact for a constant column of float32 numbers, whose mean is then exactly
  // its value and whose variance is exactly 0.
  torch::Tensor means = local.pivots * rows + first;
  group.all_reduce_sum_(means);
  means.div_(samples);

  // From this rank's pivots to the origin of all, with s the sum of x:
  // sum (x + d)(y + e) = sum x y + e s_x + d s_y + n d e.
  const torch::Tensor moved = local.pivots - means.to(options.compute_type);
  torch::Tensor moments = local.sums.narrow(0, 2, 3).clone();
  moments.narrow(0, 0, 2).add_(moved * (2 * first + rows * moved));
  moments[2] +=
      moved[1] * first[0] + moved[0] * first[1] + rows * moved[0] * moved[1];
  group.all_reduce_sum_(moments);
  return {means, moments.div_(samples)};
}

}  // namespace

StandardizedViews standardize(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const StandardizeOptions& options,
    const dist::ProcessGroup& group) {
  const auto [means, moments] = global_sums(z_a, z_b, options, group);
  // The mean in two parts. Subtracting the first, the mean rounded to
  // compute_type, is exact where z is near it, so that a mean much larger than
  // the deviation costs no digits; the rest follows with the scale.
  const torch::Tensor rounded = means.to(options.compute_type);
  const torch::Tensor rest = means - rounded;
  StandardizedViews views;
  const torch::Tensor variance_a =
      (moments[0] - rest[0].square()).clamp_min_(0);
  const torch::Tensor variance_b =
      (moments[1] - rest[1].square()).clamp_min_(0);
  const torch::Tensor covariance = moments[2] - rest[0] * rest[1];

  views.a_scale = (variance_a + options.variance_epsilon).rsqrt_();
  views.b_scale = (variance_b + options.variance_epsilon).rsqrt_();
  views.correlation = covariance * views.a_scale * views.b_scale;
  const auto standardized = [type = options.compute_type](
                                const torch::Tensor& z,
                                const torch::Tensor& shift,
                                const torch::Tensor& remainder,
                                const torch::Tensor& scale) {
    const torch::Tensor offset = remainder.mul(scale).neg_();
    return shift_and_scale(z, shift, scale.to(type), offset.to(type));
  };
  views.a = standardized(z_a, rounded[0], rest[0], views.a_scale);
  views.b = standardized(z_b, rounded[1], rest[1], views.b_scale);

  const double threshold = kConstantShare * options.variance_epsilon;
  views.constant_features =
      variance_a.le(threshold).sum() + variance_b.le(threshold).sum();
  return views;
}

}  // namespace barlow::detail
