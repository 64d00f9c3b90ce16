// SPDX-License-Identifier: MIT

#include "loss/standardize.h"

#include "loss/row_chunks.h"

namespace barlow::detail {
namespace {

// A standardised feature of this share of variance_epsilon has variance 1e-3,
// so its correlations are at most sqrt(1e-3) = 0.032.
constexpr double kConstantShare = 1e-3;

torch::Tensor column_means(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    std::int64_t samples,
    const dist::ProcessGroup& group) {
  torch::Tensor sums =
      torch::zeros({2, z_a.size(1)}, z_a.options().dtype(torch::kFloat64));
  for_row_chunks(z_a, [&](std::int64_t first, std::int64_t rows) {
    // Exact for a constant column of float32 numbers, whose mean is then
    // exactly its value and whose variance is exactly 0.
    sums[0] += z_a.narrow(0, first, rows).to(torch::kFloat64).sum(0);
    sums[1] += z_b.narrow(0, first, rows).to(torch::kFloat64).sum(0);
  });
  group.all_reduce_sum_(sums);
  return sums.div_(static_cast<double>(samples));
}

// Global means of x_a^2, x_b^2 and x_a x_b per feature: [3, D], float64.
torch::Tensor second_moments(
    const torch::Tensor& x_a,
    const torch::Tensor& x_b,
    std::int64_t samples,
    const dist::ProcessGroup& group) {
  torch::Tensor sums =
      torch::zeros({3, x_a.size(1)}, x_a.options().dtype(torch::kFloat64));
  for_row_chunks(x_a, [&](std::int64_t first, std::int64_t rows) {
    const torch::Tensor a = x_a.narrow(0, first, rows).to(torch::kFloat64);
    const torch::Tensor b = x_b.narrow(0, first, rows).to(torch::kFloat64);
    sums[0] += a.mul(a).sum(0);
    sums[1] += b.mul(b).sum(0);
    sums[2] += a.mul(b).sum(0);
  });
  group.all_reduce_sum_(sums);
  return sums.div_(static_cast<double>(samples));
}

// x <- (x - shift) * scale, one pass.
void shift_and_scale_(
    torch::Tensor& x,
    const torch::Tensor& shift,
    const torch::Tensor& scale) {
  const torch::Tensor offset = shift.mul(scale).neg_().to(x.scalar_type());
  torch::addcmul_out(x, offset, x, scale.to(x.scalar_type()));
}

}  // namespace

StandardizedViews standardize(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const StandardizeOptions& options,
    const dist::ProcessGroup& group) {
  const torch::Tensor means = column_means(z_a, z_b, options.samples, group);
  // The mean in two parts. Subtracting the first, the mean rounded to
  // compute_type, is exact where z is near it, so that a mean much larger than
  // the deviation costs no digits; the rest follows with the scale.
  const torch::Tensor rounded = means.to(options.compute_type);
  const torch::Tensor rest = means - rounded;
  StandardizedViews views;
  views.a = z_a - rounded[0];
  views.b = z_b - rounded[1];

  const torch::Tensor moments =
      second_moments(views.a, views.b, options.samples, group);
  const torch::Tensor variance_a =
      (moments[0] - rest[0].square()).clamp_min_(0);
  const torch::Tensor variance_b =
      (moments[1] - rest[1].square()).clamp_min_(0);
  const torch::Tensor covariance = moments[2] - rest[0] * rest[1];

  views.a_scale = (variance_a + options.variance_epsilon).rsqrt_();
  views.b_scale = (variance_b + options.variance_epsilon).rsqrt_();
  views.correlation = covariance * views.a_scale * views.b_scale;
  shift_and_scale_(views.a, rest[0], views.a_scale);
  shift_and_scale_(views.b, rest[1], views.b_scale);

  const double threshold = kConstantShare * options.variance_epsilon;
  views.constant_features =
      variance_a.le(threshold).sum() + variance_b.le(threshold).sum();
  return views;
}

}  // namespace barlow::detail
