// SPDX-License-Identifier: MIT
//
// Changes of colour in place, with the bytes that torchvision 0.14 gives on
// Pillow 9.4 images. Images have 1 channel (grey) or 3 (RGB); all functions are
// thread-safe and cost one or two passes over the pixels.

#pragma once

#include "barlow/data/image.h"

namespace barlow::data {

/// Moves each sample away from 0: factor * sample, cut to [0, 255]; the factor
/// is >= 0.
void adjust_brightness(Image& image, double factor);

/// Moves each sample away from the picture's mean luma (rounded to an integer)
/// by the factor, >= 0.
void adjust_contrast(Image& image, double factor);

/// Moves each sample away from its pixel's luma by the factor, >= 0. Nothing
/// happens to a grey image.
void adjust_saturation(Image& image, double factor);

/// Turns the hue by `shift` turns of the colour circle, in [-0.5, 0.5], by way
/// of 8-bit hue, saturation and value; so a shift of 0 changes some pixels by a
/// few levels. Nothing happens to a grey image.
void adjust_hue(Image& image, double shift);

/// Gives all three channels the luma (ITU-R BT.601, 16 bits after the point).
/// Nothing happens to a grey image.
void make_grey(Image& image);

/// Samples of at least `threshold`, in [0, 256], become 255 - sample.
void solarize(Image& image, int threshold);

/// Mirrors left to right.
void flip_horizontally(Image& image);

}  // namespace barlow::data
