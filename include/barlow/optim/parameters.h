// SPDX-License-Identifier: MIT
//
// A model's parameters, in the two groups that have their own learning rates.

#pragma once

#include <string>
#include <vector>

#include <torch/ordered_dict.h>
#include <torch/types.h>

namespace barlow::optim {

/// A parameter and its name in the model, e.g. "layer1.0.conv1.weight". The
/// tensor shares its memory, and its gradient, with the model's.
struct NamedParameter {
  std::string name;
  torch::Tensor tensor;
};

/// Each group keeps the order in which the parameters were given.
struct ParameterGroups {
  std::vector<NamedParameter> weights;  ///< of 2 dimensions or more
  std::vector<NamedParameter> biases;   ///< the rest: biases, norm parameters
};

/// Sorts parameters by their number of dimensions, as the authors' code does.
/// Parameters that do not require a gradient are left out.
///
/// Throws c10::ValueError, naming the parameter, if one is undefined, is not a
/// leaf, is neither float32 nor float64, or has the name of another.
[[nodiscard]] ParameterGroups group_parameters(
    const std::vector<NamedParameter>& parameters);

/// The same for `module.named_parameters()`.
[[nodiscard]] ParameterGroups group_parameters(
    const torch::OrderedDict<std::string, torch::Tensor>& parameters);

}  // namespace barlow::optim
