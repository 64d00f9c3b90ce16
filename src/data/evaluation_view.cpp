// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "barlow/data/augment.h"
#include "barlow/data/resample.h"

namespace barlow::data {
namespace {

/// Part of a line of `size` px that a window of `crop` px around its centre
/// shows: `count` px from `from` on, at `to` in the window.
struct Window {
  int from = 0;
  int to = 0;
  int count = 0;
};

Window centre_window(int size, int crop) {
  if (crop > size) {
    return {.from = 0, .to = (crop - size) / 2, .count = size};
  }
  // Halves go to even, as Python's round.
  const int from = static_cast<int>(std::nearbyint((size - crop) / 2.0));
  return {.from = from, .to = 0, .count = crop};
}

Image centre_crop(const Image& image, int crop) {
  const Window x = centre_window(image.width, crop);
  const Window y = centre_window(image.height, crop);
  Image result(crop, crop, image.channels);
  const auto channels = static_cast<std::size_t>(image.channels);
  for (int row = 0; row < y.count; ++row) {
    std::copy_n(
        image.row(y.from + row) + static_cast<std::size_t>(x.from) * channels,
        static_cast<std::size_t>(x.count) * channels,
        result.row(y.to + row) + static_cast<std::size_t>(x.to) * channels);
  }
  return result;
}

}  // namespace

void normalize_into(
    const Image& image,
    const Normalization& normalization,
    float* chw) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t plane = image.pixels.size() / channels;
  std::array<float, 256> table;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t v = 0; v < table.size(); ++v) {
      table[v] = (static_cast<float>(v) / 255.0F - normalization.mean[c]) /
                 normalization.stddev[c];
    }
    const std::uint8_t* sample = image.pixels.data() + c;
    float* out = chw + c * plane;
    for (std::size_t i = 0; i < plane; ++i) {
      out[i] = table[sample[i * channels]];
    }
  }
}

Image evaluation_view(const Image& image, int resize_px, int crop_px) {
  if (resize_px < 1 || crop_px < 1) {
    throw std::invalid_argument("evaluation_view: sizes must be at least 1");
  }
  const int shorter = std::min(image.width, image.height);
  if (shorter < 1) {
    throw std::invalid_argument("evaluation_view: the picture is empty");
  }
  const auto scaled = [&](int side) {
    return static_cast<int>(std::int64_t{resize_px} * side / shorter);
  };
  const Box whole{.width = image.width, .height = image.height};
  const Image resized = resize_crop(
      image,
      whole,
      scaled(image.width),
      scaled(image.height),
      Interpolation::kBicubic);
  return centre_crop(resized, crop_px);
}

}  // namespace barlow::data
