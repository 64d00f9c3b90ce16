// SPDX-License-Identifier: MIT
//
// The project's errors.
//
// Two kinds of mistake are told apart:
//
//   - a wrong file, flag, recipe or data set, met while running the program:
//     `Error` or its subclass `UsageError`, whose text is one line that names
//     what is wrong, what was found and what was expected;
//   - a wrong tensor argument to a library function: c10::ValueError, thrown
//     with TORCH_CHECK_VALUE, as LibTorch itself does.
//
// Both derive from std::exception. Libraries throw; only the program prints
// and exits.

#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace barlow {

/// Something outside the program's control failed: a file, a device, a peer.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user asked for something impossible: a flag, a recipe key, a path.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Throws `E` with the arguments streamed into one message.
template <class E = Error, class... Args>
[[noreturn]] void fail(const Args&... args) {
  std::ostringstream message;
  (message << ... << args);
  throw E(message.str());
}

}  // namespace barlow
