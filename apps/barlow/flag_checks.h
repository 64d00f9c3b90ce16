// SPDX-License-Identifier: MIT
//
// What a flag's value may be, with messages that say what was found and what
// was expected: CLI11's own print a double's bounds with 309 digits.

#pragma once

#include <string>

#include <CLI/Error.hpp>
#include <CLI/Validators.hpp>

namespace barlow::app {

/// A finite number in [least, most].
[[nodiscard]] CLI::Validator in_range(double least, double most);

/// A name that is not "".
[[nodiscard]] CLI::Validator not_empty();

/// A name that ends with `ending`, such as ".png".
[[nodiscard]] CLI::Validator ends_with(const std::string& ending);

}  // namespace barlow::app
