// SPDX-License-Identifier: MIT

#include "barlow/data/decode.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "barlow/core/error.h"
#include "data/codecs.h"

namespace barlow::data {
namespace {

using Bytes = std::span<const std::uint8_t>;

bool has_at(Bytes bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() &&
         std::equal(
             text.begin(),
             text.end(),
             bytes.begin() + static_cast<std::ptrdiff_t>(offset),
             [](char a, std::uint8_t b) {
               return static_cast<std::uint8_t>(a) == b;
             });
}

// What people keep beside images and meet here first.
const char* known_but_unsupported(Bytes bytes) {
  if (has_at(bytes, 0, "GIF8")) {
    return "a GIF image";
  }
  if (has_at(bytes, 0, {"II*\0", 4}) || has_at(bytes, 0, {"MM\0*", 4})) {
    return "a TIFF image";
  }
  if (has_at(bytes, 4, "ftyp")) {
    return "an AVIF, HEIC or MP4 file";
  }
  if (has_at(bytes, 0, {"\0\0\0\x0CjP  ", 8})) {
    return "a JPEG 2000 image";
  }
  if (has_at(bytes, 0, "version https://git-lfs")) {
    return "a Git LFS pointer";
  }
  return nullptr;
}

std::string first_bytes(Bytes bytes) {
  std::string text = "a file that begins with";
  for (const std::uint8_t byte :
       bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), " %02x", unsigned{byte});
    text += hex.data();
  }
  return text;
}

[[noreturn]] void fail_unknown(Bytes bytes, const std::string& name) {
  const char* known = known_but_unsupported(bytes);
  fail(
      name,
      ": found ",
      bytes.empty() ? "an empty file"
                    : (known != nullptr ? known : first_bytes(bytes)),
      ", expected a JPEG, PNG, WebP or BMP image");
}

Image to_grey(const Image& rgb) {
  Image grey(rgb.width, rgb.height, 1);
  const std::uint8_t* in = rgb.pixels.data();
  for (std::uint8_t& level : grey.pixels) {
    const std::uint32_t luma =
        19595U * in[0] + 38470U * in[1] + 7471U * in[2] + 0x8000U;
    level = static_cast<std::uint8_t>(luma >> 16U);
    in += 3;
  }
  return grey;
}

Image to_rgb(const Image& grey) {
  Image rgb(grey.width, grey.height, 3);
  std::uint8_t* out = rgb.pixels.data();
  for (const std::uint8_t level : grey.pixels) {
    out = std::fill_n(out, 3, level);
  }
  return rgb;
}

}  // namespace

Image decode_image(
    Bytes bytes,
    const std::string& name,
    const DecodeLimits& limits) {
  const detail::EncodedImage encoded{bytes, name, limits};
  if (has_at(bytes, 0, "\xFF\xD8\xFF")) {
    return detail::decode_jpeg(encoded);
  }
  if (has_at(bytes, 0, "\x89PNG\r\n\x1A\n")) {
    return detail::decode_png(encoded);
  }
  if (has_at(bytes, 0, "RIFF") && has_at(bytes, 8, "WEBP")) {
    return detail::decode_webp(encoded);
  }
  // Two letters alone could be any text.
  if (has_at(bytes, 0, "BM") && bytes.size() >= 26) {
    return detail::decode_bmp(encoded);
  }
  fail_unknown(bytes, name);
}

Image to_channels(Image image, int channels) {
  if ((channels != 1 && channels != 3) ||
      (image.channels != 1 && image.channels != 3)) {
    throw std::invalid_argument(
        "to_channels: from " + std::to_string(image.channels) + " to " +
        std::to_string(channels) + " channels, expected 1 or 3");
  }
  if (image.channels == channels) {
    return image;
  }
  return channels == 1 ? to_grey(image) : to_rgb(image);
}

namespace detail {

void check_size(
    const EncodedImage& encoded,
    std::uint64_t width,
    std::uint64_t height) {
  const auto limit = static_cast<std::uint64_t>(encoded.limits.max_pixels);
  if (width == 0 || height == 0) {
    fail(encoded.name, ": found an image of ", width, " x ", height, " px");
  }
  constexpr std::uint64_t kMaxSide = std::numeric_limits<int>::max();
  if (width > kMaxSide || height > kMaxSide || width > limit / height) {
    fail(
        encoded.name,
        ": found an image of ",
        width,
        " x ",
        height,
        " px, expected at most ",
        limit,
        " px");
  }
}

}  // namespace detail
}  // namespace barlow::data
