// SPDX-License-Identifier: MIT
//
// Resizing as Pillow's Image.resize does it.

#pragma once

#include "barlow/data/image.h"

namespace barlow::data {

/// A rectangle of pixels.
struct Box {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

/// Crops `box` out of the image and resizes it to width x height.
///
/// Cubic convolution (R. Keys, "Cubic Convolution Interpolation for Digital
/// Image Processing", IEEE TASSP 29, 1981) with a = -1/2, stretched by the
/// scale where it shrinks the picture, which is the antialiasing. Pixels
/// outside of the box have no influence; weights at its edges are normalised
/// to sum 1. Rows first, then columns, rounded to 8 bits after each; a
/// direction whose size stays the same is left alone.
///
/// Weights are rounded to 22 bits after the point and sums are exact, so that
/// the result has the bytes of Pillow 9.4. Thread-safe.
/// Cost: box.height * width * (4 max(1, box.width / width) + 1) products for
/// the rows, and the like for the columns.
/// Throws std::invalid_argument if the channels are not 1 or 3, the box is
/// empty or not inside the image, or a size is below 1.
[[nodiscard]] Image
resize_bicubic(const Image& image, const Box& box, int width, int height);

}  // namespace barlow::data
