// SPDX-License-Identifier: MIT
//
// The version, written once: CMake reads it from here.

#pragma once

namespace barlow {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace barlow
