// SPDX-License-Identifier: MIT
//
// Windows and OS/2 bitmaps, all integers little-endian:
//
//     offset  0  "BM", size, reserved    10  offset of the pixels, 4 bytes
//            14  header size h           18  width, height
//     then planes, bits per pixel, compression, ..., the palette at 14 + h
//
// Rows are padded to 4 bytes and go from bottom to top, unless the height is
// negative.

#include <array>
#include <bit>
#include <cstdlib>
#include <vector>

#include "data/codecs.h"

namespace barlow::data::detail {
namespace {

constexpr const char* kFormat = "BMP image";
constexpr std::size_t kFileHeader = 14;

enum Compression : std::uint32_t { kNone = 0, kBitFields = 3 };

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

/// Reads little-endian integers; beyond the end it throws.
class BmpReader {
 public:
  explicit BmpReader(const EncodedImage& encoded) : encoded_(encoded) {}

  [[nodiscard]] std::span<const std::uint8_t> bytes(
      std::size_t offset,
      std::size_t size) const {
    if (offset > encoded_.bytes.size() ||
        encoded_.bytes.size() - offset < size) {
      fail_decoding(
          encoded_,
          kFormat,
          "it is cut short: found ",
          encoded_.bytes.size(),
          " bytes, expected at least ",
          offset + size);
    }
    return encoded_.bytes.subspan(offset, size);
  }

  [[nodiscard]] std::uint32_t integer(std::size_t offset, std::size_t size)
      const {
    std::uint32_t value = 0;
    for (const std::uint8_t byte : bytes(offset, size)) {
      value = value >> 8U | std::uint32_t{byte} << 24U;
    }
    return value >> (32U - 8U * size);
  }

 private:
  const EncodedImage& encoded_;
};

struct BmpHeader {
  int width = 0;
  int height = 0;
  bool top_down = false;
  std::uint32_t bits = 0;
  std::size_t pixels = 0;  // their offset in the file
  std::size_t row_bytes = 0;
  std::array<std::uint32_t, 3> masks{};
  std::size_t palette = 0;
  std::size_t palette_entry_bytes = 4;
  std::uint32_t colours = 0;
};

void read_old_size(const BmpReader& in, BmpHeader& header) {
  header.width = static_cast<int>(in.integer(18, 2));
  header.height = static_cast<int>(in.integer(20, 2));
  header.bits = in.integer(24, 2);
  header.palette_entry_bytes = 3;
}

void read_size(
    const EncodedImage& encoded,
    const BmpReader& in,
    BmpHeader& header) {
  const auto width = std::bit_cast<std::int32_t>(in.integer(18, 4));
  const auto height = std::bit_cast<std::int32_t>(in.integer(22, 4));
  if (width < 0) {
    fail_decoding(encoded, kFormat, "found a width of ", width);
  }
  header.top_down = height < 0;
  const auto rows = static_cast<std::uint64_t>(std::llabs(height));
  check_size(encoded, static_cast<std::uint64_t>(width), rows);
  header.width = width;
  header.height = static_cast<int>(rows);
  header.bits = in.integer(28, 2);
  header.colours = in.integer(46, 4);
}

void read_masks(
    const EncodedImage& encoded,
    const BmpReader& in,
    BmpHeader& header) {
  header.masks = header.bits == 16
                     ? std::array<std::uint32_t, 3>{0x7C00, 0x3E0, 0x1F}
                     : std::array<std::uint32_t, 3>{0xFF0000, 0xFF00, 0xFF};
  const std::uint32_t compression = in.integer(30, 4);
  const bool direct = header.bits == 16 || header.bits == 32;
  if (compression == kBitFields && direct) {
    const decltype(header.masks) masks{
        in.integer(54, 4),
        in.integer(58, 4),
        in.integer(62, 4)};
    // Some writers leave them out.
    header.masks = masks == decltype(masks){} ? header.masks : masks;
  } else if (compression == kBitFields && header.bits == 24) {
    return;
  } else if (compression != kNone) {
    fail_decoding(
        encoded,
        kFormat,
        "found compression ",
        compression,
        ", expected an uncompressed one (0 or 3)");
  }
  for (const std::uint32_t mask : header.masks) {
    const std::uint64_t run = mask >> std::countr_zero(mask | 1U << 31U);
    if ((run & (run + 1)) != 0) {
      fail_decoding(encoded, kFormat, "found a colour mask with gaps");
    }
  }
}

void check_bits(const EncodedImage& encoded, const BmpHeader& header) {
  // OS/2 knows no 16 and 32 bits.
  const bool old = header.palette_entry_bytes == 3;
  for (const std::uint32_t bits : {1U, 4U, 8U, 16U, 24U, 32U}) {
    if (header.bits == bits && !(old && (bits == 16 || bits == 32))) {
      return;
    }
  }
  fail_decoding(
      encoded,
      kFormat,
      "found ",
      header.bits,
      " bits per pixel, expected 1, 4, 8, 16, 24 or 32");
}

BmpHeader read_header(const EncodedImage& encoded, const BmpReader& in) {
  BmpHeader header;
  const std::uint32_t size = in.integer(14, 4);
  if (size == 12) {
    read_old_size(in, header);
  } else if (size >= 40 && size <= 124) {
    read_size(encoded, in, header);
    read_masks(encoded, in, header);
  } else {
    fail_decoding(
        encoded,
        kFormat,
        "found a header of ",
        size,
        " bytes, expected 12 or 40 to 124");
  }
  check_size(
      encoded,
      static_cast<std::uint64_t>(header.width),
      static_cast<std::uint64_t>(header.height));
  check_bits(encoded, header);
  header.palette = kFileHeader + size;
  header.pixels = in.integer(10, 4);
  header.row_bytes =
      (static_cast<std::size_t>(header.width) * header.bits + 31) / 32 * 4;
  return header;
}

/// As many colours as the bits can tell apart; black where the file has fewer.
std::vector<Colour> read_palette(const BmpReader& in, const BmpHeader& header) {
  std::vector<Colour> palette(std::size_t{1} << header.bits);
  std::size_t count = palette.size();
  if (header.colours > 0 && header.colours < count) {
    count = header.colours;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto bgr =
        in.bytes(header.palette + i * header.palette_entry_bytes, 3);
    palette[i] = {bgr[2], bgr[1], bgr[0]};
  }
  return palette;
}

bool is_grey(const std::vector<Colour>& palette) {
  for (const Colour& colour : palette) {
    if (colour[0] != colour[1] || colour[1] != colour[2]) {
      return false;
    }
  }
  return true;
}

// One row: indices of 1, 4 or 8 bits, the highest bits first.
void expand_indices(
    std::span<const std::uint8_t> in,
    std::uint32_t bits,
    const std::vector<Colour>& palette,
    std::span<std::uint8_t> out,
    std::size_t channels) {
  const std::uint32_t mask = (1U << bits) - 1U;
  const std::size_t per_byte = 8 / bits;
  for (std::size_t x = 0; x < out.size() / channels; ++x) {
    const auto shift =
        static_cast<std::uint32_t>(8 - bits * (x % per_byte + 1));
    const Colour& colour =
        palette[std::uint32_t{in[x / per_byte]} >> shift & mask];
    for (std::size_t c = 0; c < channels; ++c) {
      out[x * channels + c] = colour[c];
    }
  }
}

// The share of the mask's range, of 255, rounded down as Pillow does.
std::uint8_t masked_level(std::uint32_t pixel, std::uint32_t mask) {
  if (mask == 0) {
    return 0;
  }
  const int shift = std::countr_zero(mask);
  const std::uint64_t level = (pixel & mask) >> shift;
  return static_cast<std::uint8_t>(level * 255 / (mask >> shift));
}

void expand_direct(
    std::span<const std::uint8_t> in,
    const BmpHeader& header,
    std::span<std::uint8_t> out) {
  const std::size_t step = header.bits / 8;
  for (std::size_t x = 0; x < out.size() / 3; ++x) {
    const auto* p = &in[x * step];
    std::uint8_t* rgb = &out[x * 3];
    if (header.bits == 24) {
      rgb[0] = p[2];
      rgb[1] = p[1];
      rgb[2] = p[0];
      continue;
    }
    std::uint32_t pixel = p[0] | std::uint32_t{p[1]} << 8U;
    if (step == 4) {
      pixel |= std::uint32_t{p[2]} << 16U | std::uint32_t{p[3]} << 24U;
    }
    for (std::size_t c = 0; c < 3; ++c) {
      rgb[c] = masked_level(pixel, header.masks[c]);
    }
  }
}

}  // namespace

Image decode_bmp(const EncodedImage& encoded) {
  const BmpReader in(encoded);
  const BmpHeader header = read_header(encoded, in);
  const bool indexed = header.bits <= 8;
  const auto pixels = in.bytes(
      header.pixels,
      header.row_bytes * static_cast<std::size_t>(header.height));
  std::vector<Colour> palette;
  if (indexed) {
    palette = read_palette(in, header);
  }
  Image image(header.width, header.height, indexed && is_grey(palette) ? 1 : 3);
  for (int y = 0; y < header.height; ++y) {
    const int stored = header.top_down ? y : header.height - 1 - y;
    const auto row = pixels.subspan(
        static_cast<std::size_t>(stored) * header.row_bytes,
        header.row_bytes);
    const std::span<std::uint8_t> out(image.row(y), image.row_bytes());
    if (indexed) {
      const auto channels = static_cast<std::size_t>(image.channels);
      expand_indices(row, header.bits, palette, out, channels);
    } else {
      expand_direct(row, header, out);
    }
  }
  return image;
}

}  // namespace barlow::data::detail
