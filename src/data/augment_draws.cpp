// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include "barlow/data/augment.h"

namespace barlow::data {
namespace {

constexpr int kCropTries = 10;

double between(double low, double high, double u) {
  return low + (high - low) * u;
}

/// Uniform in {0, ..., bound - 1} up to a bias of bound * 2^-53. Unlike
/// RandomStream::integer it takes one number whatever the bound is.
int below(int bound, double u) {
  return std::min(static_cast<int>(u * bound), bound - 1);
}

// std::nearbyint rounds halves to even, as Python's round.
int round_to_int(double x) {
  return static_cast<int>(std::nearbyint(x));
}

/// The uniforms of one try: area, aspect, top, left.
using Try = std::array<double, 4>;

struct Sides {
  double width;
  double height;
};

Sides drawn_sides(
    const ViewOptions& options,
    int width,
    int height,
    const Try& u) {
  const double area = static_cast<double>(width) * height *
                      between(options.min_area, options.max_area, u[0]);
  const double aspect = std::exp(between(
      std::log(options.min_aspect),
      std::log(options.max_aspect),
      u[1]));
  return {std::sqrt(area * aspect), std::sqrt(area / aspect)};
}

RealBox pixel_box(int left, int top, int width, int height) {
  return {
      static_cast<float>(left),
      static_cast<float>(top),
      static_cast<float>(left + width),
      static_cast<float>(top + height)};
}

RealBox central_crop(const ViewOptions& options, int width, int height) {
  const double aspect = static_cast<double>(width) / height;
  int crop_width = width;
  int crop_height = height;
  if (aspect < options.min_aspect) {
    crop_height = round_to_int(width / options.min_aspect);
  } else if (aspect > options.max_aspect) {
    crop_width = round_to_int(height * options.max_aspect);
  }
  // A side can round to 0 in pictures that are a few pixels thin.
  crop_width = std::clamp(crop_width, 1, width);
  crop_height = std::clamp(crop_height, 1, height);
  return pixel_box(
      (width - crop_width) / 2,
      (height - crop_height) / 2,
      crop_width,
      crop_height);
}

RealBox whole_pixel_crop(
    const ViewOptions& options,
    int width,
    int height,
    const std::array<Try, kCropTries>& tries) {
  for (const Try& u : tries) {
    const Sides sides = drawn_sides(options, width, height, u);
    const int crop_width = round_to_int(sides.width);
    const int crop_height = round_to_int(sides.height);
    if (crop_width >= 1 && crop_width <= width && crop_height >= 1 &&
        crop_height <= height) {
      const int top = below(height - crop_height + 1, u[2]);
      const int left = below(width - crop_width + 1, u[3]);
      return pixel_box(left, top, crop_width, crop_height);
    }
  }
  return central_crop(options, width, height);
}

RealBox fractional_crop(
    const ViewOptions& options,
    int width,
    int height,
    const Try& u) {
  Sides sides = drawn_sides(options, width, height, u);
  sides.width = std::min<double>(sides.width, width);
  sides.height = std::min<double>(sides.height, height);
  // Cut to the picture, the aspect may have left its range.
  sides.width = std::min(sides.width, sides.height * options.max_aspect);
  sides.height = std::min(sides.height, sides.width / options.min_aspect);
  sides.width = std::max(sides.width, 1.0);
  sides.height = std::max(sides.height, 1.0);
  const double left = (width - sides.width) * u[3];
  const double top = (height - sides.height) * u[2];
  // By rounding, a sum can be one bit above the picture's side.
  return {
      static_cast<float>(left),
      static_cast<float>(top),
      static_cast<float>(std::min<double>(left + sides.width, width)),
      static_cast<float>(std::min<double>(top + sides.height, height))};
}

RealBox draw_crop(
    const ViewOptions& options,
    int width,
    int height,
    RandomStream& stream) {
  std::array<Try, kCropTries> tries;
  for (Try& u : tries) {
    for (double& x : u) {
      x = stream.uniform();
    }
  }
  return options.crop_grid == CropGrid::kFractional
             ? fractional_crop(options, width, height, tries[0])
             : whole_pixel_crop(options, width, height, tries);
}

double draw_factor(double half_width, RandomStream& stream) {
  return stream.uniform(std::max(0.0, 1.0 - half_width), 1.0 + half_width);
}

}  // namespace

ViewDraws draw_view(
    const ViewOptions& options,
    int width,
    int height,
    RandomStream& stream) {
  if (width < 1 || height < 1) {
    throw std::invalid_argument("draw_view: the picture is empty");
  }
  ViewDraws draws;
  draws.crop = draw_crop(options, width, height, stream);
  draws.flip = stream.bernoulli(options.flip_probability);
  draws.jitter = stream.bernoulli(options.jitter_probability);
  auto& order = draws.jitter_order;
  for (int last = 3; last > 0; --last) {
    const int chosen = below(last + 1, stream.uniform());
    std::swap(
        order[static_cast<std::size_t>(last)],
        order[static_cast<std::size_t>(chosen)]);
  }
  draws.brightness_factor = draw_factor(options.brightness, stream);
  draws.contrast_factor = draw_factor(options.contrast, stream);
  draws.saturation_factor = draw_factor(options.saturation, stream);
  draws.hue_shift = stream.uniform(-options.hue, options.hue);
  draws.grey = stream.bernoulli(options.grey_probability);
  draws.blur = stream.bernoulli(options.blur_probability);
  draws.blur_sigma =
      stream.uniform(options.blur_min_sigma, options.blur_max_sigma);
  draws.solarize = stream.bernoulli(options.solarize_probability);
  return draws;
}

}  // namespace barlow::data
