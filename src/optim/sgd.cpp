// SPDX-License-Identifier: MIT

#include "barlow/optim/sgd.h"

#include "optim/flat_parameter.h"
#include "optim/kernels.h"

namespace barlow::optim {

Sgd::Sgd(const ParameterGroups& parameters, const SgdOptions& options)
    : Optimizer(parameters), options_(options) {
  TORCH_CHECK_VALUE(
      options.weight_decay >= 0,
      "Sgd: weight_decay must be >= 0, got ",
      options.weight_decay);
  TORCH_CHECK_VALUE(
      options.momentum >= 0 && options.momentum < 1,
      "Sgd: momentum must be in [0, 1), got ",
      options.momentum);
  TORCH_CHECK_VALUE(
      !options.nesterov || options.momentum > 0,
      "Sgd: nesterov needs momentum > 0, got ",
      options.momentum);
  if (options.momentum > 0) {
    add_state("momentum");
  }
}

double Sgd::decay_of(std::size_t index) const {
  return entries()[index].kind == ParameterKind::kWeight ||
                 options_.decay_biases_and_norms
             ? options_.weight_decay
             : 0.0;
}

void Sgd::update(
    std::size_t index,
    const torch::Tensor& gradient,
    double rate) {
  const torch::Tensor& p = entries()[index].parameter.tensor;
  const double decay = decay_of(index);
  torch::Tensor change = decay > 0 ? gradient.add(p, decay) : gradient;
  if (options_.momentum > 0) {
    const torch::Tensor& momentum = entries()[index].state[0];
    momentum.mul_(options_.momentum).add_(change);
    change =
        options_.nesterov ? change.add(momentum, options_.momentum) : momentum;
  }
  p.add_(change, -rate);
}

void Sgd::update_flat(const std::vector<FlatParameter>& parameters) {
  const std::vector<Chunk> chunks = cut(parameters);
  for_each_chunk(chunks, [&](std::size_t i) {
    const auto& [owner, begin, size] = chunks[i];
    const FlatParameter& flat = parameters[owner];
    const MomentumFactors factors{
        .decay = static_cast<float>(decay_of(flat.index)),
        .scale = 1,
        .momentum = static_cast<float>(options_.momentum),
        .rate = static_cast<float>(flat.rate)};
    float* p = flat.values + begin;
    const float* g = flat.gradient + begin;
    if (options_.momentum == 0) {
      plain_step(p, g, size, factors);
    } else if (options_.nesterov) {
      nesterov_step(p, g, flat.state[0] + begin, size, factors);
    } else {
      momentum_step(p, g, flat.state[0] + begin, size, factors);
    }
  });
}

}  // namespace barlow::optim
