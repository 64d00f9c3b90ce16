// SPDX-License-Identifier: MIT

#include "barlow/optim/optimizer.h"

#include <cmath>
#include <utility>

#include "barlow/core/error.h"
#include "optim/flat_parameter.h"

namespace barlow::optim {
namespace {

// Numbers that are updated together, or the next more. What a first pass over
// them read, 8 MiB, is then still in the third-level cache for a second.
constexpr std::int64_t kTogether = std::int64_t{1} << 20;

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
    entries_.push_back({parameter, ParameterKind::kWeight, {}});
  }
  for (const NamedParameter& parameter : parameters.biases) {
    entries_.push_back({parameter, ParameterKind::kBiasOrNorm, {}});
  }
}

void Optimizer::step(const LearningRates& rates) {
  check_rate("weights", rates.weights);
  check_rate("biases", rates.biases);
  torch::NoGradGuard no_grad;
  std::vector<FlatParameter> together;
  std::int64_t pending = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const torch::Tensor gradient = entry.parameter.tensor.grad();
    if (!gradient.defined()) {
      continue;
    }
    const double rate =
        entry.kind == ParameterKind::kWeight ? rates.weights : rates.biases;
    auto flat = flatten(entry.parameter.tensor, gradient, entry.state);
    if (!flat) {
      update(i, gradient, rate);
      continue;
    }
    pending += flat->size;
    flat->index = i;
    flat->rate = rate;
    together.push_back(*std::move(flat));
    // As LibTorch's own operations: a graph that needs the old values fails.
    entry.parameter.tensor.unsafeGetTensorImpl()->bump_version();
    if (pending >= kTogether) {
      update_flat(together);
      together.clear();
      pending = 0;
    }
  }
  update_flat(together);
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

void Optimizer::add_state(const std::string& prefix) {
  for (Entry& entry : entries_) {
    entry.state.push_back(torch::zeros_like(
        entry.parameter.tensor,
        torch::TensorOptions().requires_grad(false)));
    state_[prefix + "." + entry.parameter.name] = entry.state.back();
  }
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
