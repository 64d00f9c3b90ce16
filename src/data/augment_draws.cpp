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

void set_central_crop(
    const ViewOptions& options,
    int width,
    int height,
    ViewDraws& draws) {
  const double aspect = static_cast<double>(width) / height;
  draws.crop_width = width;
  draws.crop_height = height;
  if (aspect < options.min_aspect) {
    draws.crop_height = round_to_int(width / options.min_aspect);
  } else if (aspect > options.max_aspect) {
    draws.crop_width = round_to_int(height * options.max_aspect);
  }
  // A side can round to 0 in pictures that are a few pixels thin.
  draws.crop_width = std::clamp(draws.crop_width, 1, width);
  draws.crop_height = std::clamp(draws.crop_height, 1, height);
  draws.crop_left = (width - draws.crop_width) / 2;
  draws.crop_top = (height - draws.crop_height) / 2;
}

/// One try; false if the crop does not fit.
bool set_random_crop(
    const ViewOptions& options,
    int width,
    int height,
    const std::array<double, 4>& u,
    ViewDraws& draws) {
  const double area = static_cast<double>(width) * height *
                      between(options.min_area, options.max_area, u[0]);
  const double aspect = std::exp(between(
      std::log(options.min_aspect),
      std::log(options.max_aspect),
      u[1]));
  const int crop_width = round_to_int(std::sqrt(area * aspect));
  const int crop_height = round_to_int(std::sqrt(area / aspect));
  if (crop_width < 1 || crop_width > width || crop_height < 1 ||
      crop_height > height) {
    return false;
  }
  draws.crop_width = crop_width;
  draws.crop_height = crop_height;
  draws.crop_top = below(height - crop_height + 1, u[2]);
  draws.crop_left = below(width - crop_width + 1, u[3]);
  return true;
}

void draw_crop(
    const ViewOptions& options,
    int width,
    int height,
    RandomStream& stream,
    ViewDraws& draws) {
  bool found = false;
  for (int i = 0; i < kCropTries; ++i) {
    std::array<double, 4> u;
    for (double& x : u) {
      x = stream.uniform();
    }
    found = found || set_random_crop(options, width, height, u, draws);
  }
  if (!found) {
    set_central_crop(options, width, height, draws);
  }
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
  draw_crop(options, width, height, stream, draws);
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
