// SPDX-License-Identifier: MIT
//
// Colour pixels taken apart, so that loops over them vectorise.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "barlow/data/image.h"
#include "core/vector_clones.h"

namespace barlow::data::detail {

/// The channels of a few pixels, each sample in [0, 255].
struct PixelBlock {
  static constexpr std::size_t kSize = 64;
  std::array<std::int32_t, kSize> r{};
  std::array<std::int32_t, kSize> g{};
  std::array<std::int32_t, kSize> b{};

  void load(const std::uint8_t* rgb, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      r[i] = rgb[3 * i];
      g[i] = rgb[3 * i + 1];
      b[i] = rgb[3 * i + 2];
    }
  }

  void store(std::uint8_t* rgb, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      rgb[3 * i] = static_cast<std::uint8_t>(r[i]);
      rgb[3 * i + 1] = static_cast<std::uint8_t>(g[i]);
      rgb[3 * i + 2] = static_cast<std::uint8_t>(b[i]);
    }
  }
};

/// Calls change(PixelBlock&) on all pixels of an RGB image, in place. In the
/// last block the entries after the image's end hold pixels of earlier blocks.
template <class Change>
BARLOW_INLINE inline void for_each_block(Image& image, const Change& change) {
  PixelBlock block;
  const std::size_t pixels = image.pixels.size() / 3;
  for (std::size_t begin = 0; begin < pixels; begin += PixelBlock::kSize) {
    const std::size_t count = std::min(PixelBlock::kSize, pixels - begin);
    std::uint8_t* rgb = image.pixels.data() + 3 * begin;
    block.load(rgb, count);
    change(block);
    block.store(rgb, count);
  }
}

}  // namespace barlow::data::detail
