// SPDX-License-Identifier: MIT
//
// Gaussian blur.

#pragma once

#include "barlow/data/image.h"

namespace barlow::data {

/// Blurs in place with a Gaussian of standard deviation `sigma` px,
/// in [0, 100], approximated by three extended box filters in each
/// direction (P. Gwosdek, S. Grewenig, A. Bruhn, J. Weickert, "Theoretical
/// Foundations of Gaussian Convolution by Extended Box Filtering", SSVM 2011),
/// each rounded to 8 bits. The picture continues with its edge pixels.
///
/// The bytes of Pillow 9.4's ImageFilter.GaussianBlur(sigma). Thread-safe.
/// Cost: six passes, each of about 2 sigma + 1 additions a sample; temporary
/// memory of one image.
/// Throws std::invalid_argument if sigma is out of range.
void gaussian_blur(Image& image, double sigma);

}  // namespace barlow::data
