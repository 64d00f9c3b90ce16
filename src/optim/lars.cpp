// SPDX-License-Identifier: MIT

#include "barlow/optim/lars.h"

#include <limits>

namespace barlow::optim {
namespace {

constexpr double kClippedEpsilon = 1e-8;

void check_options(const LarsOptions& options) {
  TORCH_CHECK_VALUE(
      options.weight_decay >= 0,
      "Lars: weight_decay must be >= 0, got ",
      options.weight_decay);
  TORCH_CHECK_VALUE(
      options.momentum >= 0 && options.momentum < 1,
      "Lars: momentum must be in [0, 1), got ",
      options.momentum);
  TORCH_CHECK_VALUE(
      options.trust_coefficient > 0,
      "Lars: trust_coefficient must be > 0, got ",
      options.trust_coefficient);
}

// A sum, because sums are pairwise and norms are not (see the header).
torch::Tensor euclidean_norm(const torch::Tensor& x) {
  return x.square().sum().sqrt();
}

// All of it stays on the device: a branch on a norm would wait for the GPU.
torch::Tensor plain_update(
    const torch::Tensor& p,
    const torch::Tensor& decayed,
    double trust_coefficient) {
  const torch::Tensor p_norm = euclidean_norm(p);
  const torch::Tensor update_norm = euclidean_norm(decayed);
  const torch::Tensor ratio = torch::where(
      p_norm.gt(0).logical_and(update_norm.gt(0)),
      p_norm.mul(trust_coefficient).div(update_norm),
      torch::ones_like(p_norm));
  return decayed.mul(ratio);
}

torch::Tensor clipped_update(
    const torch::Tensor& p,
    const torch::Tensor& gradient,
    double weight_decay,
    double relative_trust) {
  const torch::Tensor p_norm = euclidean_norm(p);
  const torch::Tensor g_norm = euclidean_norm(gradient);
  const torch::Tensor ratio =
      p_norm.mul(relative_trust)
          .div(g_norm + p_norm * weight_decay + kClippedEpsilon)
          .clamp_max(1);
  const torch::Tensor usable = p_norm.gt(0).logical_and(g_norm.gt(0));
  return torch::where(
      usable,
      gradient.add(p, weight_decay).mul_(ratio),
      gradient);
}

}  // namespace

Lars::Lars(const ParameterGroups& parameters, const LarsOptions& options)
    : Optimizer(parameters), options_(options) {
  check_options(options);
  momentum_ = add_state("momentum");
}

void Lars::update(
    std::size_t index,
    const torch::Tensor& gradient,
    double rate) {
  const Entry& entry = entries()[index];
  torch::Tensor p = entry.parameter.tensor;
  const bool weight = entry.kind == ParameterKind::kWeight;
  const bool adapt = weight || options_.adapt_biases_and_norms;
  const double decay =
      weight || options_.decay_biases_and_norms ? options_.weight_decay : 0.0;
  torch::Tensor change;
  if (adapt && options_.trust_ratio == TrustRatio::kClipped) {
    const double relative_trust = rate > 0
                                      ? options_.trust_coefficient / rate
                                      : std::numeric_limits<double>::infinity();
    change = clipped_update(p, gradient, decay, relative_trust);
  } else {
    change = decay > 0 ? gradient.add(p, decay) : gradient;
    if (adapt) {
      change = plain_update(p, change, options_.trust_coefficient);
    }
  }
  momentum_[index].mul_(options_.momentum).add_(change);
  p.add_(momentum_[index], -rate);
}

}  // namespace barlow::optim
