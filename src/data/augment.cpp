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

}  // namespace

Image augment(
    const Image& image,
    const ViewOptions& options,
    const ViewDraws& draws) {
  const Box box{
      .left = draws.crop_left,
      .top = draws.crop_top,
      .width = draws.crop_width,
      .height = draws.crop_height};
  Image view = resize_bicubic(image, box, options.size, options.size);
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
