// SPDX-License-Identifier: MIT

#include "barlow/optim/optimizer.h"

#include <cmath>

#include "barlow/core/error.h"

namespace barlow::optim {
namespace {

void check_rate(const char* group, double rate) {
  TORCH_CHECK_VALUE(
      std::isfinite(rate) && rate >= 0,
      "Optimizer::step: learning rate of ",
      group,
      " must be finite and >= 0, got ",
      rate);
}

void check_same_kind(
    const std::string& name,
    const torch::Tensor& expected,
    const torch::Tensor& found) {
  if (found.sizes() != expected.sizes() ||
      found.scalar_type() != expected.scalar_type()) {
    fail(
        "optimiser state ",
        name,
        " is ",
        torch::toString(found.scalar_type()),
        " ",
        found.sizes(),
        ", expected ",
        torch::toString(expected.scalar_type()),
        " ",
        expected.sizes());
  }
}

}  // namespace

Optimizer::Optimizer(const ParameterGroups& parameters) {
  for (const NamedParameter& parameter : parameters.weights) {
    entries_.push_back({parameter, ParameterKind::kWeight});
  }
  for (const NamedParameter& parameter : parameters.biases) {
    entries_.push_back({parameter, ParameterKind::kBiasOrNorm});
  }
}

void Optimizer::step(const LearningRates& rates) {
  check_rate("weights", rates.weights);
  check_rate("biases", rates.biases);
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const torch::Tensor gradient = entries_[i].parameter.tensor.grad();
    if (gradient.defined()) {
      const bool weight = entries_[i].kind == ParameterKind::kWeight;
      update(i, gradient, weight ? rates.weights : rates.biases);
    }
  }
}

void Optimizer::zero_grad() {
  for (Entry& entry : entries_) {
    entry.parameter.tensor.mutable_grad().reset();
  }
}

void Optimizer::load_state(const NamedTensors& state) {
  for (const auto& [name, tensor] : state_) {
    const auto found = state.find(name);
    if (found == state.end()) {
      fail("optimiser state ", name, " is missing");
    }
    check_same_kind(name, tensor, found->second);
  }
  for (const auto& [name, tensor] : state) {
    if (state_.count(name) == 0) {
      fail("optimiser state ", name, " belongs to no parameter");
    }
  }
  torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : state_) {
    tensor.copy_(state.at(name));
  }
}

std::vector<torch::Tensor> Optimizer::add_state(const std::string& prefix) {
  std::vector<torch::Tensor> tensors;
  for (const Entry& entry : entries_) {
    tensors.push_back(torch::zeros_like(
        entry.parameter.tensor,
        torch::TensorOptions().requires_grad(false)));
    state_[prefix + "." + entry.parameter.name] = tensors.back();
  }
  return tensors;
}

std::vector<torch::Tensor> Optimizer::add_counters(const std::string& prefix) {
  std::vector<torch::Tensor> tensors;
  for (const Entry& entry : entries_) {
    tensors.push_back(torch::zeros({}, torch::kInt64));
    state_[prefix + "." + entry.parameter.name] = tensors.back();
  }
  return tensors;
}

}  // namespace barlow::optim
