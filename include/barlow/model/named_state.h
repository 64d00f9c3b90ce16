// SPDX-License-Identifier: MIT
//
// A module's parameters and buffers by name: what checkpoints hold.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "barlow/core/named_tensors.h"

namespace barlow::model {

/// Parameters and buffers under their names in the module, as a state_dict of
/// Python torch. The tensors share the module's memory and are detached:
/// training changes what they hold. Clone them to keep a moment.
[[nodiscard]] NamedTensors named_state(const torch::nn::Module& module);

struct LoadStateOptions {
  /// Names that may be there beyond the module's: a whole name, or a prefix
  /// followed by '*', such as "fc.*".
  std::vector<std::string> ignore = {};

  /// Where the tensors come from, for messages: a path.
  std::string source = "state";
};

/// Copies `tensors` into the module's parameters and buffers of the same name,
/// in place: device, type, memory format and the optimiser's references stay.
///
/// Floating-point types are converted to the module's; other types must match.
/// Everything is checked before anything is copied.
/// Throws Error, one line that begins with `source`, if a name is missing or
/// unexpected, or a tensor has another shape or kind of type: naming the first
/// such tensor, what was found and expected, and the number of others.
void load_state(
    torch::nn::Module& module,
    const NamedTensors& tensors,
    const LoadStateOptions& options = {});

/// The number of values in all parameters (buffers not counted).
[[nodiscard]] std::int64_t count_parameters(const torch::nn::Module& module);

}  // namespace barlow::model
