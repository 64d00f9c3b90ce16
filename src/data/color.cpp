// SPDX-License-Identifier: MIT

#include "barlow/data/color.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/vector_clones.h"
#include "data/pixel_block.h"

namespace barlow::data {
namespace {

using detail::for_each_block;
using detail::PixelBlock;

using Table = std::array<std::uint8_t, 256>;

/// from + factor * (to - from), in float, cut to [0, 255] and truncated: the
/// interpolation of Pillow's Image.blend.
std::uint8_t blend(int from, int to, float factor) {
  const float mixed =
      static_cast<float>(from) + factor * static_cast<float>(to - from);
  return static_cast<std::uint8_t>(
      static_cast<int>(std::clamp(mixed, 0.0F, 255.0F)));
}

void map_samples(Image& image, const Table& table) {
  for (std::uint8_t& sample : image.pixels) {
    sample = table[sample];
  }
}

void blend_with(Image& image, int level, double factor) {
  Table table;
  for (int v = 0; v < 256; ++v) {
    table[static_cast<std::size_t>(v)] =
        blend(level, v, static_cast<float>(factor));
  }
  map_samples(image, table);
}

/// 0.299 r + 0.587 g + 0.114 b with weights of 16 bits that sum to 2^16.
constexpr int luma(int r, int g, int b) {
  return (19595 * r + 38470 * g + 7471 * b + (1 << 15)) >> 16;
}

BARLOW_VECTOR_CLONES std::int64_t sum_of_luma(const Image& image) {
  std::int64_t sum = 0;
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.row(y);
    std::int32_t row_sum = 0;  // of at most 2^23 pixels
    for (int x = 0; x < image.width; ++x) {
      row_sum += luma(row[3 * x], row[3 * x + 1], row[3 * x + 2]);
    }
    sum += row_sum;
  }
  return sum;
}

int mean_luma(const Image& image) {
  const auto sum = image.channels == 3 ? sum_of_luma(image)
                                       : std::accumulate(
                                             image.pixels.begin(),
                                             image.pixels.end(),
                                             std::int64_t{0});
  const double count = static_cast<double>(image.width) * image.height;
  return static_cast<int>(static_cast<double>(sum) / count + 0.5);
}

BARLOW_VECTOR_CLONES void saturate(Image& image, float factor) {
  for_each_block(image, [&](PixelBlock& block) BARLOW_INLINE {
    for (std::size_t i = 0; i < PixelBlock::kSize; ++i) {
      const int grey = luma(block.r[i], block.g[i], block.b[i]);
      block.r[i] = blend(grey, block.r[i], factor);
      block.g[i] = blend(grey, block.g[i], factor);
      block.b[i] = blend(grey, block.b[i], factor);
    }
  });
}

}  // namespace

void adjust_brightness(Image& image, double factor) {
  blend_with(image, 0, factor);
}

void adjust_contrast(Image& image, double factor) {
  blend_with(image, mean_luma(image), factor);
}

void adjust_saturation(Image& image, double factor) {
  if (image.channels != 3) {
    return;
  }
  saturate(image, static_cast<float>(factor));
}

void make_grey(Image& image) {
  if (image.channels != 3) {
    return;
  }
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    std::uint8_t* rgb = &image.pixels[i];
    std::fill_n(
        rgb,
        3,
        static_cast<std::uint8_t>(luma(rgb[0], rgb[1], rgb[2])));
  }
}

void solarize(Image& image, int threshold) {
  Table table;
  for (int v = 0; v < 256; ++v) {
    table[static_cast<std::size_t>(v)] =
        static_cast<std::uint8_t>(v < threshold ? v : 255 - v);
  }
  map_samples(image, table);
}

void flip_horizontally(Image& image) {
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* left = image.row(y);
    std::uint8_t* right = left + image.row_bytes() - channels;
    for (; left < right; left += channels, right -= channels) {
      std::swap_ranges(left, left + channels, right);
    }
  }
}

}  // namespace barlow::data
