// SPDX-License-Identifier: MIT
//
// Image files to pixels.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "barlow/data/image.h"

namespace barlow::data {

/// What a file may ask for, checked before its pixels are allocated.
struct DecodeLimits {
  /// width * height, >= 1. The default is where Pillow refuses a picture as a
  /// decompression bomb: 512 MiB of colour.
  std::int64_t max_pixels = 178'956'970;
};

/// Decodes an image file, whose format is recognised by its first bytes:
///
///     JPEG   baseline, progressive; grey, YCbCr, RGB, CMYK, YCCK
///     PNG    every kind; 16 bits per sample keep the high 8; of an animation
///            the default picture
///     WebP   lossy, lossless; of an animation the first frame
///     BMP    1, 4, 8, 16, 24, 32 bits, uncompressed; RLE is refused
///
/// Gives grey (1 channel) from grey JPEG and PNG files and BMP files whose
/// palette is grey, else RGB. Alpha and transparent colours are dropped, not
/// blended; CMYK is taken as inverted, as Adobe's programs write it. Colour
/// profiles and gamma are ignored. The picture is upright: the EXIF orientation
/// of JPEG, PNG and WebP files is applied.
///
/// The bytes are those of Pillow 9.4 (exif_transpose, then convert("RGB") or
/// "L") with the same codec libraries, save for 16-bit grey, which Pillow
/// clips.
///
/// `name` stands for the file in messages. Throws Error, in one line, if the
/// format is unknown, the picture exceeds the limits, or the file is cut short
/// or damaged where pixels would suffer; damaged metadata is ignored.
///
/// Deterministic; thread-safe. Memory: the pixels, twice where the picture is
/// turned, and for progressive JPEG files 6 bytes per pixel besides.
[[nodiscard]] Image decode_image(
    std::span<const std::uint8_t> bytes,
    const std::string& name,
    const DecodeLimits& limits = {});

/// The image with 1 or 3 channels. Grey from RGB is Pillow's "L",
/// (19595 R + 38470 G + 7471 B + 32768) / 65536 (ITU-R BT.601 luma), RGB from
/// grey is replication; an image that has the channels is returned as it is.
/// Throws std::invalid_argument for any other number of channels.
[[nodiscard]] Image to_channels(Image image, int channels);

}  // namespace barlow::data
