// SPDX-License-Identifier: MIT
//
// The decoder of each format, behind decode_image.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "barlow/core/error.h"
#include "barlow/data/decode.h"

namespace barlow::data::detail {

/// An encoded image. A view: all it refers to must outlive it.
struct EncodedImage {
  std::span<const std::uint8_t> bytes;
  const std::string& name;
  const DecodeLimits& limits;
};

// Each expects bytes that begin as its format does, and throws Error.
Image decode_jpeg(const EncodedImage& encoded);
Image decode_png(const EncodedImage& encoded);
Image decode_webp(const EncodedImage& encoded);
Image decode_bmp(const EncodedImage& encoded);

template <class... Reason>
[[noreturn]] void fail_decoding(
    const EncodedImage& encoded,
    const char* format,
    const Reason&... reason) {
  fail(
      encoded.name,
      ": found a ",
      format,
      " that cannot be decoded: ",
      reason...);
}

/// Throws Error unless width and height are at least 1 and their product is
/// within the limits.
void check_size(
    const EncodedImage& encoded,
    std::uint64_t width,
    std::uint64_t height);

/// The picture that EXIF calls upright: `orientation` in [1, 8] says how the
/// stored one is turned and mirrored; anything else is taken as 1.
Image upright(Image image, int orientation);

/// The orientation in an EXIF block (TIFF, with or without "Exif\0\0" before
/// it); 1 if it has none or is damaged. Reads nothing beyond the block.
int exif_orientation(std::span<const std::uint8_t> exif);

}  // namespace barlow::data::detail
