// SPDX-License-Identifier: MIT

#include "barlow/data/augment.h"

#include "barlow/data/blur.h"
#include "barlow/data/color.h"
#include "barlow/data/resample.h"

namespace barlow::data {
namespace {

void apply_jitter(
    Image& view,
    const ViewOptions& options,
    const ViewDraws& draws) {
  for (JitterOp op : draws.jitter_order) {
    switch (op) {
      case JitterOp::kBrightness:
        adjust_brightness(view, draws.brightness_factor);
        break;
      case JitterOp::kContrast:
        adjust_contrast(view, draws.contrast_factor);
        break;
      case JitterOp::kSaturation:
        adjust_saturation(view, draws.saturation_factor);
        break;
      case JitterOp::kHue:
        // The way through 8-bit hues changes pixels also at shift 0, so a range
        // of 0 must leave it out; the other operations are exact at factor 1.
        if (options.hue > 0) {
          adjust_hue(view, draws.hue_shift);
        }
        break;
    }
  }
}

Image resized_crop(
    const Image& image,
    const ViewOptions& options,
    const RealBox& crop) {
  const int size = options.size;
  if (options.crop_grid == CropGrid::kFractional) {
    return resize_part(image, crop, size, size, options.interpolation);
  }
  const Box box{
      .left = static_cast<int>(crop.left),
      .top = static_cast<int>(crop.top),
      .width = static_cast<int>(crop.width()),
      .height = static_cast<int>(crop.height())};
  return resize_crop(image, box, size, size, options.interpolation);
}

}  // namespace

Image augment(
    const Image& image,
    const ViewOptions& options,
    const ViewDraws& draws) {
  Image view = resized_crop(image, options, draws.crop);
  if (draws.flip) {
    flip_horizontally(view);
  }
  if (draws.jitter) {
    apply_jitter(view, options, draws);
  }
  if (draws.grey) {
    make_grey(view);
  }
  if (draws.blur) {
    gaussian_blur(view, draws.blur_sigma);
  }
  if (draws.solarize) {
    solarize(view, options.solarize_threshold);
  }
  return view;
}

}  // namespace barlow::data
