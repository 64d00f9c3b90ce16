// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "barlow/data/color.h"
#include "core/vector_clones.h"
#include "data/pixel_block.h"

namespace barlow::data {
namespace {

using detail::PixelBlock;

/// Pixels as 8-bit hue (255ths of a turn), saturation and value.
struct HsvBlock {
  std::array<std::int32_t, PixelBlock::kSize> hue{};
  std::array<std::int32_t, PixelBlock::kSize> saturation{};
  std::array<std::int32_t, PixelBlock::kSize> value{};
};

/// Float and double are mixed as Pillow mixes them: all 2^24 colours give its
/// bytes. Grey pixels have hue 0 and saturation 0.
BARLOW_INLINE inline void to_hsv(const PixelBlock& rgb, HsvBlock& hsv) {
  for (std::size_t i = 0; i < PixelBlock::kSize; ++i) {
    const int r = rgb.r[i];
    const int g = rgb.g[i];
    const int b = rgb.b[i];
    const int high = std::max(std::max(r, g), b);
    const int low = std::min(std::min(r, g), b);
    const auto spread = static_cast<float>(std::max(high - low, 1));
    // The hue lies at 0, 2 or 4 sixths plus the difference of two distances;
    // numbers are chosen before they are divided, so that there is no branch.
    const bool red = r == high;
    const bool green = g == high;
    const int base = red ? 0 : green ? 2 : 4;
    const int away = red ? b : green ? r : g;
    const int near = red ? g : green ? b : r;
    const float plus = static_cast<float>(high - away) / spread;
    const float minus = static_cast<float>(high - near) / spread;
    const double sixths = base + static_cast<double>(plus) - minus;
    const double turns = static_cast<float>(sixths) / 6.0 + 1.0;
    const double wrapped = turns - static_cast<int>(turns);
    hsv.hue[i] = static_cast<int>(static_cast<float>(wrapped) * 255.0);
    const float share =
        static_cast<float>(high - low) / static_cast<float>(std::max(high, 1));
    hsv.saturation[i] = static_cast<int>(share * 255.0F);
    hsv.value[i] = high;
  }
}

/// The way back to RGB for each hue before it is turned.
struct HueTable {
  std::array<std::int32_t, 256> sector{};  ///< sixth of the circle, 0 to 5
  std::array<double, 256> from_high{};     ///< place of the middle channel
};

HueTable make_table(int shift) {
  HueTable table;
  for (int hue = 0; hue < 256; ++hue) {
    const double sixths = ((hue + shift) & 255) * 6.0 / 255.0;
    const int whole = static_cast<int>(sixths);
    const auto part = static_cast<float>(sixths - whole);
    const auto i = static_cast<std::size_t>(hue);
    table.sector[i] = whole % 6;
    table.from_high[i] = whole % 2 == 1 ? part : 1.0 - part;
  }
  return table;
}

/// `first` or `second` if its condition holds, else `last`. Without branches.
BARLOW_INLINE inline int
pick(bool is_first, int first, bool is_second, int second, int last) {
  const int rest = is_second ? second : last;
  return is_first ? first : rest;
}

BARLOW_INLINE inline int round_sample(double x) {
  return static_cast<int>(x + 0.5);
}

BARLOW_INLINE inline void
to_rgb(const HsvBlock& hsv, const HueTable& table, PixelBlock& rgb) {
  std::array<std::int32_t, PixelBlock::kSize> sectors;
  std::array<double, PixelBlock::kSize> from_high;
  for (std::size_t i = 0; i < PixelBlock::kSize; ++i) {
    const auto hue = static_cast<std::size_t>(hsv.hue[i]);
    sectors[i] = table.sector[hue];
    from_high[i] = table.from_high[hue];
  }
  for (std::size_t i = 0; i < PixelBlock::kSize; ++i) {
    const double share = static_cast<float>(hsv.saturation[i] / 255.0);
    const int high = hsv.value[i];
    const int low = round_sample(high * (1.0 - share));
    const int middle = round_sample(high * (1.0 - share * from_high[i]));
    const int k = sectors[i];
    rgb.r[i] =
        pick((k == 0) | (k == 5), high, (k == 1) | (k == 4), middle, low);
    rgb.g[i] =
        pick((k == 1) | (k == 2), high, (k == 0) | (k == 3), middle, low);
    rgb.b[i] =
        pick((k == 3) | (k == 4), high, (k == 2) | (k == 5), middle, low);
  }
}

BARLOW_VECTOR_CLONES void turn_hue(Image& image, const HueTable& table) {
  HsvBlock hsv;
  detail::for_each_block(image, [&](PixelBlock& rgb) BARLOW_INLINE {
    to_hsv(rgb, hsv);
    to_rgb(hsv, table, rgb);
  });
}

}  // namespace

void adjust_hue(Image& image, double shift) {
  if (image.channels == 3) {
    turn_hue(image, make_table(static_cast<int>(shift * 255.0)));
  }
}

}  // namespace barlow::data
