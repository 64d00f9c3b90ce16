// SPDX-License-Identifier: MIT
//
// Several sets of named tensors as one.

#pragma once

#include <string>

#include "barlow/core/named_tensors.h"

namespace barlow::train {

/// Adds `part` to `all`, each name after `prefix`.
inline void add_prefixed(
    NamedTensors& all,
    const std::string& prefix,
    const NamedTensors& part) {
  for (const auto& [name, tensor] : part) {
    all.emplace(prefix + name, tensor);
  }
}

/// The inverse: those whose names begin with `prefix`, without it.
[[nodiscard]] inline NamedTensors take_prefixed(
    const NamedTensors& all,
    const std::string& prefix) {
  NamedTensors part;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix)) {
      part.emplace(name.substr(prefix.size()), tensor);
    }
  }
  return part;
}

}  // namespace barlow::train
