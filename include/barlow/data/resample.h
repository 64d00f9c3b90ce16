// SPDX-License-Identifier: MIT
//
// Resizing as Pillow's Image.resize does it.

#pragma once

#include <cstdint>

#include "barlow/data/image.h"

namespace barlow::data {

/// A rectangle of pixels.
struct Box {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

/// A rectangle with edges at fractions of a pixel: 0 is the first pixel's outer
/// edge, the image's width or height the last one's. float32 as in Pillow.
struct RealBox {
  float left = 0;
  float top = 0;
  float right = 0;
  float bottom = 0;

  [[nodiscard]] float width() const { return right - left; }
  [[nodiscard]] float height() const { return bottom - top; }

  friend bool operator==(const RealBox&, const RealBox&) = default;
};

/// The filter of a resize, stretched by the scale where it shrinks the picture,
/// which is the antialiasing.
enum class Interpolation : std::uint8_t {
  /// Cubic convolution (R. Keys, "Cubic Convolution Interpolation for Digital
  /// Image Processing", IEEE TASSP 29, 1981) with a = -1/2: 4 px wide, sharp.
  kBicubic,
  /// A triangle 2 px wide: smoother, overshoots nowhere.
  kBilinear,
};

/// Crops `box` out of the image and resizes the crop to width x height:
/// Pillow's `image.crop(box).resize((width, height), filter)`. Pixels outside
/// of the box have no influence.
///
/// Rows first, then columns, rounded to 8 bits after each; a direction whose
/// size stays the same is left alone. Weights at the edges are normalised to
/// sum 1, and rounded to 22 bits after the point; sums are exact, so that the
/// result has the bytes of Pillow 9.4. Thread-safe.
/// Cost: box.height * width * (4 max(1, box.width / width) + 1) products for
/// the rows, and the like for the columns; about half of it if bilinear.
/// Throws std::invalid_argument if the channels are not 1 or 3, the box is
/// empty or not inside the image, or a size is below 1.
[[nodiscard]] Image resize_crop(
    const Image& image,
    const Box& box,
    int width,
    int height,
    Interpolation interpolation);

/// Resizes the part of the image in `box` to width x height: Pillow's
/// `image.resize((width, height), filter, box)`. Pixels that the filter reaches
/// outside of the box do have influence, up to the image's edges. The rest is
/// as for `resize_crop`, the bytes of Pillow as well.
[[nodiscard]] Image resize_part(
    const Image& image,
    const RealBox& box,
    int width,
    int height,
    Interpolation interpolation);

}  // namespace barlow::data
