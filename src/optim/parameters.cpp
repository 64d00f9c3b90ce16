// SPDX-License-Identifier: MIT

#include "barlow/optim/parameters.h"

#include <set>

namespace barlow::optim {
namespace {

void check_parameter(const NamedParameter& parameter) {
  const auto& [name, tensor] = parameter;
  TORCH_CHECK_VALUE(
      tensor.defined(),
      "group_parameters: ",
      name,
      " is undefined");
  TORCH_CHECK_VALUE(
      tensor.is_leaf(),
      "group_parameters: ",
      name,
      " is the result of an operation, expected a leaf");
  TORCH_CHECK_VALUE(
      tensor.scalar_type() == torch::kFloat32 ||
          tensor.scalar_type() == torch::kFloat64,
      "group_parameters: ",
      name,
      " is ",
      tensor.scalar_type(),
      ", expected float32 or float64");
}

}  // namespace

ParameterGroups group_parameters(
    const std::vector<NamedParameter>& parameters) {
  ParameterGroups groups;
  std::set<std::string> names;
  for (const NamedParameter& parameter : parameters) {
    check_parameter(parameter);
    TORCH_CHECK_VALUE(
        names.insert(parameter.name).second,
        "group_parameters: two parameters are named ",
        parameter.name);
    if (parameter.tensor.requires_grad()) {
      auto& group = parameter.tensor.dim() > 1 ? groups.weights : groups.biases;
      group.push_back(parameter);
    }
  }
  return groups;
}

ParameterGroups group_parameters(
    const torch::OrderedDict<std::string, torch::Tensor>& parameters) {
  std::vector<NamedParameter> named;
  for (const auto& item : parameters) {
    named.push_back({item.key(), item.value()});
  }
  return group_parameters(named);
}

}  // namespace barlow::optim
