// SPDX-License-Identifier: MIT

#include "barlow/data/resample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/vector_clones.h"

namespace barlow::data {
namespace {

// 8 bits of sample, 22 of weight and 2 of room for the filter's overshoot fill
// a 32-bit integer.
constexpr int kWeightBits = 22;
constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) {
    return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  }
  if (x < 2.0) {
    return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  }
  return 0.0;
}

double triangle(double x) {
  return std::max(1.0 - std::abs(x), 0.0);
}

struct Filter {
  double radius;
  double (*weight)(double);
};

Filter filter_of(Interpolation interpolation) {
  return interpolation == Interpolation::kBicubic ? Filter{2.0, cubic}
                                                  : Filter{1.0, triangle};
}

/// One direction of what is resized: the `size` px from `first` on may be read,
/// and [begin, end], counted from `first`, is shown.
struct Span {
  int first;
  int size;
  float begin;
  float end;
};

/// The weights of one direction: output i is the sum over t < count[i] of
/// weights[i * stride + t] * input[first[i] + t].
struct Taps {
  bool copies = false;  ///< output i is input[first[i]]
  std::size_t stride = 0;
  std::vector<int> first;
  std::vector<int> count;
  std::vector<std::int32_t> weights;

  // Both grow with i: all inputs are in [begin, end).
  [[nodiscard]] int begin() const { return first.front(); }
  [[nodiscard]] int end() const { return first.back() + count.back(); }
};

Taps copying_taps(int first, std::size_t outputs) {
  Taps taps;
  taps.copies = true;
  taps.stride = 1;
  taps.first.resize(outputs);
  std::iota(taps.first.begin(), taps.first.end(), first);
  taps.count.assign(outputs, 1);
  taps.weights.assign(outputs, 1 << kWeightBits);
  return taps;
}

Taps make_taps(const Span& span, int out_size, const Filter& filter) {
  const auto outputs = static_cast<std::size_t>(out_size);
  const float length = span.end - span.begin;
  if (length == static_cast<float>(out_size) &&
      span.begin == std::trunc(span.begin)) {
    return copying_taps(span.first + static_cast<int>(span.begin), outputs);
  }
  const double scale = static_cast<double>(length) / out_size;
  const double stretch = std::max(scale, 1.0);
  const double radius = filter.radius * stretch;
  Taps taps;
  taps.stride = static_cast<std::size_t>(std::ceil(radius)) * 2 + 1;
  taps.first.resize(outputs);
  taps.count.resize(outputs);
  taps.weights.resize(outputs * taps.stride);
  std::vector<double> exact(taps.stride);
  for (std::size_t i = 0; i < outputs; ++i) {
    const double centre = span.begin + (static_cast<double>(i) + 0.5) * scale;
    const int first = std::max(static_cast<int>(centre - radius + 0.5), 0);
    const int end =
        std::min(static_cast<int>(centre + radius + 0.5), span.size);
    const auto count = static_cast<std::size_t>(end - first);
    double sum = 0;
    for (std::size_t t = 0; t < count; ++t) {
      const double x = static_cast<double>(t) + first - centre + 0.5;
      exact[t] = filter.weight(x * (1.0 / stretch));
      sum += exact[t];
    }
    std::int32_t* weights = taps.weights.data() + i * taps.stride;
    for (std::size_t t = 0; t < count; ++t) {
      const double w = exact[t] / sum * (1 << kWeightBits);
      weights[t] = static_cast<std::int32_t>(w < 0 ? w - 0.5 : w + 0.5);
    }
    taps.first[i] = span.first + first;
    taps.count[i] = end - first;
  }
  return taps;
}

std::uint8_t to_sample(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

// `in` is the sample of input taps.begin(), in the next two.
void resize_row_grey(
    const std::uint8_t* in,
    const Taps& taps,
    std::uint8_t* out) {
  const int begin = taps.begin();
  for (std::size_t i = 0; i < taps.first.size(); ++i) {
    const std::uint8_t* sample = in + (taps.first[i] - begin);
    const std::int32_t* weight = taps.weights.data() + i * taps.stride;
    std::int32_t sum = kHalf;
    for (int t = 0; t < taps.count[i]; ++t) {
      sum += weight[t] * sample[t];
    }
    out[i] = to_sample(sum);
  }
}

/// The three samples of a pixel and a 0, as one vector.
using Lanes = std::int32_t __attribute__((vector_size(16)));
struct Quad {
  Lanes lanes;
};

BARLOW_VECTOR_CLONES void resize_row_rgb(
    const std::uint8_t* in,
    const Taps& taps,
    std::vector<Quad>& wide,
    std::uint8_t* out) {
  for (std::size_t x = 0; x < wide.size(); ++x) {
    wide[x].lanes = Lanes{in[3 * x], in[3 * x + 1], in[3 * x + 2], 0};
  }
  const int begin = taps.begin();
  for (std::size_t i = 0; i < taps.first.size(); ++i) {
    const Quad* pixel = wide.data() + (taps.first[i] - begin);
    const std::int32_t* weight = taps.weights.data() + i * taps.stride;
    Lanes sums{kHalf, kHalf, kHalf, kHalf};
    for (int t = 0; t < taps.count[i]; ++t) {
      sums += weight[t] * pixel[t].lanes;
    }
    for (std::size_t c = 0; c < 3; ++c) {
      out[3 * i + c] = to_sample(sums[c]);
    }
  }
}

/// One output row of `columns` samples from `count` input rows.
BARLOW_VECTOR_CLONES void combine_rows(
    const std::uint8_t* in,
    std::size_t in_stride,
    const std::int32_t* weights,
    int count,
    std::size_t columns,
    std::uint8_t* out) {
  constexpr std::size_t block = 64;
  std::array<std::int32_t, block> sums;
  for (std::size_t begin = 0; begin < columns; begin += block) {
    const std::size_t size = std::min(block, columns - begin);
    sums.fill(kHalf);
    for (int t = 0; t < count; ++t) {
      const std::uint8_t* row =
          in + static_cast<std::size_t>(t) * in_stride + begin;
      const std::int32_t weight = weights[t];
      for (std::size_t j = 0; j < size; ++j) {
        sums[j] += weight * row[j];
      }
    }
    for (std::size_t j = 0; j < size; ++j) {
      out[begin + j] = to_sample(sums[j]);
    }
  }
}

/// Image rows [first, end) with the columns that `taps` makes.
Image resize_rows(const Image& image, int first, int end, const Taps& taps) {
  const auto width = static_cast<int>(taps.first.size());
  Image result(width, end - first, image.channels);
  const auto offset = static_cast<std::size_t>(taps.begin()) *
                      static_cast<std::size_t>(image.channels);
  std::vector<Quad> wide(
      image.channels == 3 && !taps.copies
          ? static_cast<std::size_t>(taps.end() - taps.begin())
          : 0);
  for (int y = 0; y < result.height; ++y) {
    const std::uint8_t* row = image.row(first + y) + offset;
    if (taps.copies) {
      std::copy_n(row, result.row_bytes(), result.row(y));
    } else if (image.channels == 3) {
      resize_row_rgb(row, taps, wide, result.row(y));
    } else {
      resize_row_grey(row, taps, result.row(y));
    }
  }
  return result;
}

/// The rows that `taps` makes; the image's first one is input taps.begin().
Image resize_columns(const Image& image, const Taps& taps) {
  const auto height = static_cast<int>(taps.first.size());
  Image result(image.width, height, image.channels);
  for (int y = 0; y < height; ++y) {
    const auto i = static_cast<std::size_t>(y);
    combine_rows(
        image.row(taps.first[i] - taps.begin()),
        image.row_bytes(),
        taps.weights.data() + i * taps.stride,
        taps.count[i],
        image.row_bytes(),
        result.row(y));
  }
  return result;
}

Image resize(const Image& image, const Taps& across, const Taps& down) {
  Image rows = resize_rows(image, down.begin(), down.end(), across);
  return down.copies ? rows : resize_columns(rows, down);
}

void check(const Image& image, bool inside, int width, int height) {
  if (image.channels != 1 && image.channels != 3) {
    throw std::invalid_argument("resize: channels must be 1 or 3");
  }
  if (!inside) {
    throw std::invalid_argument(
        "resize: the box must be inside the image and not empty");
  }
  if (width < 1 || height < 1) {
    throw std::invalid_argument("resize: the size must be at least 1");
  }
}

}  // namespace

Image resize_crop(
    const Image& image,
    const Box& box,
    int width,
    int height,
    Interpolation interpolation) {
  const bool inside = box.left >= 0 && box.top >= 0 && box.width >= 1 &&
                      box.height >= 1 && box.left <= image.width - box.width &&
                      box.top <= image.height - box.height;
  check(image, inside, width, height);
  const auto part = [](int first, int size) {
    return Span{first, size, 0, static_cast<float>(size)};
  };
  const Filter filter = filter_of(interpolation);
  return resize(
      image,
      make_taps(part(box.left, box.width), width, filter),
      make_taps(part(box.top, box.height), height, filter));
}

Image resize_part(
    const Image& image,
    const RealBox& box,
    int width,
    int height,
    Interpolation interpolation) {
  // Written so that a NaN is not inside.
  const bool inside = box.left >= 0 && box.left < box.right &&
                      box.right <= static_cast<float>(image.width) &&
                      box.top >= 0 && box.top < box.bottom &&
                      box.bottom <= static_cast<float>(image.height);
  check(image, inside, width, height);
  const Filter filter = filter_of(interpolation);
  return resize(
      image,
      make_taps({0, image.width, box.left, box.right}, width, filter),
      make_taps({0, image.height, box.top, box.bottom}, height, filter));
}

}  // namespace barlow::data
