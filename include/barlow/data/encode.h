// SPDX-License-Identifier: MIT
//
// Images to files.

#pragma once

#include <filesystem>

#include "barlow/data/image.h"

namespace barlow::data {

/// Writes an 8-bit PNG, grey or RGB. The file is whole or absent.
/// Throws Error, naming the path and the reason.
void write_png(const std::filesystem::path& path, const Image& image);

}  // namespace barlow::data
