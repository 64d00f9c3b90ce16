// SPDX-License-Identifier: MIT
//
// How a batch of images lies in memory.

#pragma once

#include <cstdint>

namespace barlow::data {

/// The order of a [n, C, H, W] tensor's numbers; shape and values are the same.
enum class MemoryFormat : std::uint8_t {
  kContiguous,    ///< channel planes, one after the other
  kChannelsLast,  ///< pixel by pixel, which convolutions prefer
};

}  // namespace barlow::data
