// SPDX-License-Identifier: MIT

#include "barlow/data/blur.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/vector_clones.h"

namespace barlow::data {
namespace {

constexpr int kPasses = 3;
constexpr int kWeightBits = 24;

/// A box of 2 * radius + 1 samples of weight `inner` with one sample of weight
/// `outer` at each end. 2^24 (1 - 2^-23) <= sum of weights <= 2^24, so sums of
/// 8-bit samples fit 32 bits.
struct ExtendedBox {
  int radius = 0;
  std::uint32_t inner = 0;
  std::uint32_t outer = 0;
};

/// The box whose variance, three times over, is sigma^2 (section 3 of the
/// paper). Pillow computes in float where the type says so.
ExtendedBox make_box(double sigma) {
  const auto radius = static_cast<float>(sigma);
  const float variance = radius * radius / kPasses;
  const auto length = static_cast<float>(std::sqrt(12.0 * variance + 1.0));
  const auto whole = static_cast<float>(std::floor((length - 1.0) / 2.0));
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  const float half_width = whole + part;
  ExtendedBox box;
  box.radius = static_cast<int>(half_width);
  constexpr std::uint32_t one = 1U << kWeightBits;
  box.inner = static_cast<std::uint32_t>(
      static_cast<float>(one) / (half_width * 2 + 1));
  const auto inner_samples = static_cast<std::uint32_t>(box.radius * 2 + 1);
  box.outer = (one - inner_samples * box.inner) / 2;
  return box;
}

std::uint8_t weigh(
    const ExtendedBox& box,
    std::uint32_t inner_sum,
    std::uint32_t outer_sum) {
  constexpr std::uint32_t half = 1U << (kWeightBits - 1);
  return static_cast<std::uint8_t>(
      (inner_sum * box.inner + outer_sum * box.outer + half) >> kWeightBits);
}

/// Where the samples of a filter lie: entry k is the line k - radius - 1 places
/// from the output's.
using Lines = std::vector<const std::uint8_t*>;

BARLOW_VECTOR_CLONES void blur_radius_0(
    const ExtendedBox& box,
    const Lines& lines,
    std::size_t size,
    std::uint8_t* out) {
  const std::uint8_t* a = lines[0];
  const std::uint8_t* b = lines[1];
  const std::uint8_t* c = lines[2];
  for (std::size_t j = 0; j < size; ++j) {
    out[j] = weigh(box, b[j], static_cast<std::uint32_t>(a[j] + c[j]));
  }
}

BARLOW_VECTOR_CLONES void blur_radius_1(
    const ExtendedBox& box,
    const Lines& lines,
    std::size_t size,
    std::uint8_t* out) {
  const std::uint8_t* a = lines[0];
  const std::uint8_t* b = lines[1];
  const std::uint8_t* c = lines[2];
  const std::uint8_t* d = lines[3];
  const std::uint8_t* e = lines[4];
  for (std::size_t j = 0; j < size; ++j) {
    const auto inner = static_cast<std::uint32_t>(b[j] + c[j] + d[j]);
    out[j] = weigh(box, inner, static_cast<std::uint32_t>(a[j] + e[j]));
  }
}

BARLOW_VECTOR_CLONES void blur_long(
    const ExtendedBox& box,
    const Lines& lines,
    std::size_t size,
    std::uint8_t* out) {
  constexpr std::size_t block = 64;
  std::array<std::uint32_t, block> inner;
  for (std::size_t begin = 0; begin < size; begin += block) {
    const std::size_t count = std::min(block, size - begin);
    inner.fill(0);
    for (std::size_t k = 1; k + 1 < lines.size(); ++k) {
      const std::uint8_t* line = lines[k] + begin;
      for (std::size_t j = 0; j < count; ++j) {
        inner[j] += line[j];
      }
    }
    const std::uint8_t* first = lines.front() + begin;
    const std::uint8_t* last = lines.back() + begin;
    for (std::size_t j = 0; j < count; ++j) {
      const auto outer = static_cast<std::uint32_t>(first[j] + last[j]);
      out[begin + j] = weigh(box, inner[j], outer);
    }
  }
}

/// Filters `size` adjacent outputs.
void blur_line(
    const ExtendedBox& box,
    const Lines& lines,
    std::size_t size,
    std::uint8_t* out) {
  switch (box.radius) {
    case 0:
      return blur_radius_0(box, lines, size, out);
    case 1:
      return blur_radius_1(box, lines, size, out);
    default:
      return blur_long(box, lines, size, out);
  }
}

/// Continues a row of pixels that begins at `row` by `margin` pixels of each
/// edge.
void extend(std::uint8_t* row, int width, int margin, std::size_t channels) {
  const std::size_t bytes = static_cast<std::size_t>(width) * channels;
  for (int k = 0; k < margin; ++k) {
    const std::size_t step = static_cast<std::size_t>(k) * channels;
    std::copy_n(row, channels, row - step - channels);
    std::copy_n(row + bytes - channels, channels, row + bytes + step);
  }
}

void blur_rows(Image& image, const ExtendedBox& box) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const int reach = box.radius + 1;
  const std::size_t margin = static_cast<std::size_t>(reach) * channels;
  std::vector<std::uint8_t> padded(image.row_bytes() + 2 * margin);
  std::vector<std::uint8_t> next(padded.size());
  Lines lines(static_cast<std::size_t>(2 * reach + 1));
  for (int y = 0; y < image.height; ++y) {
    std::copy_n(image.row(y), image.row_bytes(), padded.data() + margin);
    for (int pass = 0; pass < kPasses; ++pass) {
      extend(padded.data() + margin, image.width, reach, channels);
      for (std::size_t k = 0; k < lines.size(); ++k) {
        lines[k] = padded.data() + k * channels;
      }
      blur_line(box, lines, image.row_bytes(), next.data() + margin);
      std::swap(padded, next);
    }
    std::copy_n(padded.data() + margin, image.row_bytes(), image.row(y));
  }
}

void blur_columns(Image& image, const ExtendedBox& box) {
  Image next(image.width, image.height, image.channels);
  const int reach = box.radius + 1;
  Lines lines(static_cast<std::size_t>(2 * reach + 1));
  for (int pass = 0; pass < kPasses; ++pass) {
    for (int y = 0; y < image.height; ++y) {
      for (int k = -reach; k <= reach; ++k) {
        lines[static_cast<std::size_t>(k + reach)] =
            image.row(std::clamp(y + k, 0, image.height - 1));
      }
      blur_line(box, lines, image.row_bytes(), next.row(y));
    }
    std::swap(image, next);
  }
}

}  // namespace

void gaussian_blur(Image& image, double sigma) {
  if (!(sigma >= 0 && sigma <= 100)) {
    throw std::invalid_argument("gaussian_blur: sigma must be in [0, 100]");
  }
  const ExtendedBox box = make_box(sigma);
  blur_rows(image, box);
  blur_columns(image, box);
}

}  // namespace barlow::data
