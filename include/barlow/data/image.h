// SPDX-License-Identifier: MIT
//
// A decoded picture.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace barlow::data {

/// 8-bit samples, rows from top to bottom, channels interleaved:
///
///     pixels   [height, width, channels]   channels: 1 (grey) or 3 (sRGB)
///
/// A value type; copying copies the pixels.
struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;

  Image() = default;
  Image(int width_px, int height_px, int channel_count)
      : width(width_px),
        height(height_px),
        channels(channel_count),
        pixels(
            static_cast<std::size_t>(width_px) *
            static_cast<std::size_t>(height_px) *
            static_cast<std::size_t>(channel_count)) {}

  [[nodiscard]] std::size_t row_bytes() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  }
  [[nodiscard]] const std::uint8_t* row(int y) const {
    return pixels.data() + static_cast<std::size_t>(y) * row_bytes();
  }
  [[nodiscard]] std::uint8_t* row(int y) {
    return pixels.data() + static_cast<std::size_t>(y) * row_bytes();
  }
};

}  // namespace barlow::data
