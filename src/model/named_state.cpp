// SPDX-License-Identifier: MIT

#include "barlow/model/named_state.h"

#include <algorithm>
#include <string_view>

#include "barlow/core/error.h"

namespace barlow::model {
namespace {

bool matches(const std::string& name, std::string_view pattern) {
  if (!pattern.empty() && pattern.back() == '*') {
    pattern.remove_suffix(1);
    return name.starts_with(pattern);
  }
  return name == pattern;
}

bool same_kind(torch::Dtype found, torch::Dtype expected) {
  return found == expected ||
         (c10::isFloatingType(found) && c10::isFloatingType(expected));
}

std::string more(std::size_t total, const char* what) {
  return total > 1
             ? " (and " + std::to_string(total - 1) + " more " + what + ")"
             : "";
}

std::vector<std::string> names_not_in(
    const NamedTensors& candidates,
    const NamedTensors& known) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : candidates) {
    if (!known.contains(name)) {
      names.push_back(name);
    }
  }
  return names;
}

void check_names(
    const NamedTensors& state,
    const NamedTensors& tensors,
    const LoadStateOptions& options) {
  const auto missing = names_not_in(state, tensors);
  if (!missing.empty()) {
    fail(
        options.source,
        ": no tensor '",
        missing.front(),
        "', expected one of shape ",
        state.at(missing.front()).sizes(),
        more(missing.size(), "missing"));
  }
  auto unexpected = names_not_in(tensors, state);
  std::erase_if(unexpected, [&](const std::string& name) {
    return std::any_of(
        options.ignore.begin(),
        options.ignore.end(),
        [&](const auto& pattern) { return matches(name, pattern); });
  });
  if (!unexpected.empty()) {
    fail(
        options.source,
        ": unexpected tensor '",
        unexpected.front(),
        "' of shape ",
        tensors.at(unexpected.front()).sizes(),
        more(unexpected.size(), "unexpected"));
  }
}

void check_tensors(
    const NamedTensors& state,
    const NamedTensors& tensors,
    const std::string& source) {
  for (const auto& [name, expected] : state) {
    const torch::Tensor& found = tensors.at(name);
    if (found.sizes() != expected.sizes()) {
      fail(
          source,
          ": tensor '",
          name,
          "' has shape ",
          found.sizes(),
          ", expected ",
          expected.sizes());
    }
    if (!same_kind(found.scalar_type(), expected.scalar_type())) {
      fail(
          source,
          ": tensor '",
          name,
          "' has type ",
          found.scalar_type(),
          ", expected ",
          expected.scalar_type());
    }
  }
}

}  // namespace

NamedTensors named_state(const torch::nn::Module& module) {
  NamedTensors state;
  for (const auto& parameter : module.named_parameters()) {
    state.emplace(parameter.key(), parameter.value().detach());
  }
  for (const auto& buffer : module.named_buffers()) {
    state.emplace(buffer.key(), buffer.value().detach());
  }
  return state;
}

void load_state(
    torch::nn::Module& module,
    const NamedTensors& tensors,
    const LoadStateOptions& options) {
  torch::NoGradGuard no_grad;
  NamedTensors state = named_state(module);
  check_names(state, tensors, options);
  check_tensors(state, tensors, options.source);
  for (auto& [name, tensor] : state) {
    tensor.copy_(tensors.at(name));
  }
}

std::int64_t count_parameters(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const torch::Tensor& parameter : module.parameters()) {
    count += parameter.numel();
  }
  return count;
}

}  // namespace barlow::model
