// SPDX-License-Identifier: MIT

#include "barlow/optim/lars.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "optim/flat_parameter.h"
#include "optim/kernels.h"

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

// eta / rate, which the clipped ratio is formed with.
double relative_trust(const LarsOptions& options, double rate) {
  return rate > 0 ? options.trust_coefficient / rate
                  : std::numeric_limits<double>::infinity();
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
    double relative) {
  const torch::Tensor p_norm = euclidean_norm(p);
  const torch::Tensor g_norm = euclidean_norm(gradient);
  const torch::Tensor ratio =
      p_norm.mul(relative)
          .div(g_norm + p_norm * weight_decay + kClippedEpsilon)
          .clamp_max(1);
  const torch::Tensor usable = p_norm.gt(0).logical_and(g_norm.gt(0));
  return torch::where(
      usable,
      gradient.add(p, weight_decay).mul_(ratio),
      gradient);
}

// Of each parameter that has a decay for it; the others are not read. Chunks
// are added in their order, so that the number of threads does not matter.
std::vector<SquaredNorms> norms_of(
    const std::vector<FlatParameter>& parameters,
    const std::vector<Chunk>& chunks,
    const std::vector<std::optional<float>>& decay) {
  std::vector<SquaredNorms> of_chunk(chunks.size());
  for_each_chunk(chunks, [&](std::size_t i) {
    const auto& [owner, begin, size] = chunks[i];
    const FlatParameter& p = parameters[owner];
    if (decay[owner]) {
      of_chunk[i] = squared_norms(
          p.values + begin,
          p.gradient + begin,
          *decay[owner],
          size);
    }
  });
  std::vector<SquaredNorms> norms(parameters.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    norms[chunks[i].parameter].parameter += of_chunk[i].parameter;
    norms[chunks[i].parameter].gradient += of_chunk[i].gradient;
  }
  return norms;
}

// The same ratios, of norms that are at hand. Where there is none, q = 1, and
// in the clipped flavour no decay either.
MomentumFactors adapted(
    const SquaredNorms& squared,
    const LarsOptions& options,
    double decay,
    double rate) {
  const double p_norm = std::sqrt(squared.parameter);
  const double g_norm = std::sqrt(squared.gradient);
  const bool usable = p_norm > 0 && g_norm > 0;
  double ratio = 1;
  if (usable && options.trust_ratio == TrustRatio::kPlain) {
    ratio = options.trust_coefficient * p_norm / g_norm;
  } else if (usable) {
    ratio = std::min(
        relative_trust(options, rate) * p_norm /
            (g_norm + decay * p_norm + kClippedEpsilon),
        1.0);
  } else if (options.trust_ratio == TrustRatio::kClipped) {
    decay = 0;
  }
  return {
      .decay = static_cast<float>(decay),
      .scale = static_cast<float>(ratio)};
}

}  // namespace

Lars::Lars(const ParameterGroups& parameters, const LarsOptions& options)
    : Optimizer(parameters), options_(options) {
  check_options(options);
  add_state("momentum");
}

bool Lars::adapts(std::size_t index) const {
  return entries()[index].kind == ParameterKind::kWeight ||
         options_.adapt_biases_and_norms;
}

double Lars::decay_of(std::size_t index) const {
  return entries()[index].kind == ParameterKind::kWeight ||
                 options_.decay_biases_and_norms
             ? options_.weight_decay
             : 0.0;
}

void Lars::update(
    std::size_t index,
    const torch::Tensor& gradient,
    double rate) {
  const torch::Tensor& p = entries()[index].parameter.tensor;
  const torch::Tensor& momentum = entries()[index].state[0];
  const double decay = decay_of(index);
  const bool adapt = adapts(index);
  torch::Tensor change;
  if (adapt && options_.trust_ratio == TrustRatio::kClipped) {
    change = clipped_update(p, gradient, decay, relative_trust(options_, rate));
  } else {
    change = decay > 0 ? gradient.add(p, decay) : gradient;
    if (adapt) {
      change = plain_update(p, change, options_.trust_coefficient);
    }
  }
  momentum.mul_(options_.momentum).add_(change);
  p.add_(momentum, -rate);
}

void Lars::update_flat(const std::vector<FlatParameter>& parameters) {
  const std::vector<Chunk> chunks = cut(parameters);
  std::vector<std::optional<float>> decay_in_norm(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (adapts(parameters[i].index)) {
      const bool plain = options_.trust_ratio == TrustRatio::kPlain;
      decay_in_norm[i] =
          static_cast<float>(plain ? decay_of(parameters[i].index) : 0.0);
    }
  }
  const std::vector<SquaredNorms> norms =
      norms_of(parameters, chunks, decay_in_norm);
  std::vector<MomentumFactors> factors(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const FlatParameter& p = parameters[i];
    const double decay = decay_of(p.index);
    factors[i].decay = static_cast<float>(decay);
    if (adapts(p.index)) {
      factors[i] = adapted(norms[i], options_, decay, p.rate);
    }
    factors[i].momentum = static_cast<float>(options_.momentum);
    factors[i].rate = static_cast<float>(p.rate);
  }
  for_each_chunk(chunks, [&](std::size_t i) {
    const auto& [owner, begin, size] = chunks[i];
    const FlatParameter& p = parameters[owner];
    momentum_step(
        p.values + begin,
        p.gradient + begin,
        p.state[0] + begin,
        size,
        factors[owner]);
  });
}

}  // namespace barlow::optim
