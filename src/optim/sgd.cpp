// SPDX-License-Identifier: MIT

#include "barlow/optim/sgd.h"

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
    momentum_ = add_state("momentum");
  }
}

void Sgd::update(
    std::size_t index,
    const torch::Tensor& gradient,
    double rate) {
  const Entry& entry = entries()[index];
  torch::Tensor p = entry.parameter.tensor;
  const bool decayed =
      entry.kind == ParameterKind::kWeight || options_.decay_biases_and_norms;
  torch::Tensor change = decayed && options_.weight_decay > 0
                             ? gradient.add(p, options_.weight_decay)
                             : gradient;
  if (options_.momentum > 0) {
    momentum_[index].mul_(options_.momentum).add_(change);
    change = options_.nesterov ? change.add(momentum_[index], options_.momentum)
                               : momentum_[index];
  }
  p.add_(change, -rate);
}

}  // namespace barlow::optim
