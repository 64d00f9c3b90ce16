// SPDX-License-Identifier: MIT
//
// The orientation of a camera's picture (Exif 2.32, tag 0x0112).

#include <algorithm>
#include <array>
#include <utility>

#include "data/codecs.h"

namespace barlow::data::detail {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// Integers of either byte order; 0 beyond the end.
class TiffReader {
 public:
  TiffReader(Bytes bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  [[nodiscard]] std::uint32_t read(std::size_t offset, std::size_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size) {
      return 0;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value = value << 8U | bytes_[offset + (big_endian_ ? i : size - 1 - i)];
    }
    return value;
  }

 private:
  Bytes bytes_;
  bool big_endian_;
};

bool begins_with(Bytes bytes, const std::array<std::uint8_t, 4>& start) {
  return bytes.size() >= start.size() &&
         std::equal(start.begin(), start.end(), bytes.begin());
}

constexpr std::size_t kEntryBytes = 12;
constexpr std::uint32_t kOrientationTag = 0x0112;

int entry_value(const TiffReader& tiff, std::size_t entry) {
  const std::array<std::size_t, 5> size_of_type{0, 1, 0, 2, 4};  // byte .. long
  const std::uint32_t type = tiff.read(entry + 2, 2);
  const std::size_t size = type < size_of_type.size() ? size_of_type[type] : 0;
  const std::uint32_t value = tiff.read(entry + 8, size);
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

/// Where the stored pixel (row, column) goes: `first` for (0, 0), then `right`
/// pixels on for each column and `down` for each row.
struct Walk {
  std::ptrdiff_t first;
  std::ptrdiff_t right;
  std::ptrdiff_t down;
};

// Rows of the upright picture are as long as the stored ones in 1 to 4, as the
// stored columns in 5 to 8.
Walk walk_for(int orientation, std::ptrdiff_t w, std::ptrdiff_t h) {
  switch (orientation) {
    case 2:  // mirrored left to right
      return {w - 1, -1, w};
    case 3:  // half a turn
      return {w * h - 1, -1, -w};
    case 4:  // mirrored top to bottom
      return {w * (h - 1), 1, -w};
    case 5:  // mirrored along the falling diagonal
      return {0, h, 1};
    case 6:  // to be turned clockwise
      return {h - 1, h, -1};
    case 7:  // mirrored along the rising diagonal
      return {h * w - 1, -h, -1};
    case 8:  // to be turned counterclockwise
      return {h * (w - 1), -h, 1};
    default:
      return {0, 1, w};
  }
}

}  // namespace

int exif_orientation(Bytes exif) {
  if (begins_with(exif, {'E', 'x', 'i', 'f'}) && exif.size() >= 6) {
    exif = exif.subspan(6);
  }
  const bool big_endian = begins_with(exif, {'M', 'M', 0, 42});
  if (!big_endian && !begins_with(exif, {'I', 'I', 42, 0})) {
    return 1;
  }
  const TiffReader tiff(exif, big_endian);
  const std::size_t directory = tiff.read(4, 4);
  const std::size_t count = tiff.read(directory, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.read(entry, 2) == kOrientationTag) {
      return entry_value(tiff, entry);
    }
  }
  return 1;
}

Image upright(Image image, int orientation) {
  if (orientation < 2 || orientation > 8) {
    return image;
  }
  const bool swapped = orientation >= 5;
  Image turned(
      swapped ? image.height : image.width,
      swapped ? image.width : image.height,
      image.channels);
  const Walk walk = walk_for(orientation, image.width, image.height);
  const std::ptrdiff_t channels = image.channels;
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* in = image.row(y);
    std::uint8_t* out =
        turned.pixels.data() + (walk.first + y * walk.down) * channels;
    for (int x = 0; x < image.width; ++x) {
      std::copy_n(in + x * channels, channels, out + x * walk.right * channels);
    }
  }
  return turned;
}

}  // namespace barlow::data::detail
