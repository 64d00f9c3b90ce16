// SPDX-License-Identifier: MIT

#include "loss/reference.h"

#include "support/tensors.h"

namespace barlow::test {

Views correlated_views(
    std::int64_t samples,
    std::int64_t features,
    std::uint64_t seed) {
  const torch::Tensor shared = normal({samples, features}, 3 * seed);
  const auto view = [&](std::uint64_t view_seed) {
    const torch::Tensor noise = normal({samples, features}, view_seed);
    const torch::Tensor position =
        torch::linspace(0, 1, features, torch::kFloat64);
    return (shared + 0.5 * noise) * (0.3 + 2.7 * position) + (4 * position - 2);
  };
  return {view(3 * seed + 1), view(3 * seed + 2)};
}

LossAndGradients reference_loss(
    const Views& views,
    const BarlowTwinsLossOptions& options) {
  const auto leaf = [](const torch::Tensor& z) {
    return z.detach().to(torch::kFloat64).clone().set_requires_grad(true);
  };
  const Views leaves{leaf(views.a), leaf(views.b)};
  const auto standardized = [&](const torch::Tensor& z) {
    const torch::Tensor centred = z - z.mean(0);
    return centred /
           (centred.square().mean(0) + options.variance_epsilon).sqrt();
  };
  const torch::Tensor correlation =
      torch::mm(standardized(leaves.a).t(), standardized(leaves.b)) /
      static_cast<double>(views.a.size(0));
  const torch::Tensor diagonal = correlation.diagonal();
  const torch::Tensor invariance = (diagonal - 1).square().sum();
  // The difference costs float64 at most the ratio of the sums, under 1e4 in
  // these tests, in units of 1e-16; a matrix without diagonal costs memory.
  const torch::Tensor redundancy =
      correlation.square().sum() - diagonal.square().sum();
  const torch::Tensor total = invariance + options.lambda * redundancy;
  total.backward();
  return {
      total.detach(),
      invariance.detach(),
      redundancy.detach(),
      {leaves.a.grad(), leaves.b.grad()}};
}

LossAndGradients barlow_loss(
    const Views& views,
    const BarlowTwinsLossOptions& options,
    const dist::ProcessGroup& group) {
  const auto leaf = [](const torch::Tensor& z) {
    return z.detach().clone().set_requires_grad(true);
  };
  const Views leaves{leaf(views.a), leaf(views.b)};
  const BarlowTwinsLoss loss =
      barlow_twins_loss(leaves.a, leaves.b, options, group);
  loss.total.backward();
  return {
      loss.total.detach(),
      loss.invariance,
      loss.redundancy,
      {leaves.a.grad(), leaves.b.grad()}};
}

double gradient_error(const Views& actual, const Views& expected) {
  return relative_error(
      torch::stack({actual.a, actual.b}),
      torch::stack({expected.a, expected.b}));
}

}  // namespace barlow::test
