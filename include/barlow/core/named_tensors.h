// SPDX-License-Identifier: MIT
//
// Tensors by name: what a module's state, an optimiser's state and a file of
// weights have in common.

#pragma once

#include <map>
#include <string>

#include <torch/types.h>

namespace barlow {

/// Sorted by name, so that a walk over it, and a file of it, has one order.
using NamedTensors = std::map<std::string, torch::Tensor>;

}  // namespace barlow
