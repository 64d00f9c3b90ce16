// SPDX-License-Identifier: MIT
//
// Random views of a picture, as the authors of Barlow Twins make them
// (https://arxiv.org/abs/2103.03230, section 3.2 and appendix A), and the view
// for evaluation.
//
// Drawing and applying are apart: `draw_view` turns random numbers into a plain
// list of parameters, `augment` is a pure function of picture and parameters.
// Each operation gives the bytes that torchvision 0.14 gives on Pillow 9.4
// images for the same parameters (tests/data/augment_test.cpp).

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "barlow/core/random.h"
#include "barlow/data/image.h"
#include "barlow/data/resample.h"

namespace barlow::data {

/// Where a crop's edges may lie.
enum class CropGrid : std::uint8_t {
  kPixels,      ///< between pixels, as torchvision's
  kFractional,  ///< anywhere: places and sizes that differ by less than a pixel
                ///< differ, which matters for pictures of a few dozen px
};

/// How random views are made. The defaults are the authors' first view; their
/// second one has blur_probability 0.1 and solarize_probability 0.2.
///
/// Probabilities are in [0, 1]. An operation with range 0 is left out, whatever
/// its probability.
struct ViewOptions {
  /// Side of the square view, px, in [1, 16384].
  int size = 224;

  /// Share of the picture's area that the crop covers, 0 < min <= max <= 1,
  /// uniform.
  double min_area = 0.08;
  double max_area = 1.0;

  /// Width / height of the crop, 0 < min <= max <= 1000, uniform in its
  /// logarithm.
  double min_aspect = 3.0 / 4.0;
  double max_aspect = 4.0 / 3.0;

  CropGrid crop_grid = CropGrid::kPixels;

  /// Of the crop, when it is resized to the view.
  Interpolation interpolation = Interpolation::kBicubic;

  /// Mirror left to right.
  double flip_probability = 0.5;

  /// All four colour operations, in random order.
  double jitter_probability = 0.8;

  /// Half widths, >= 0 and at most 100: the factor is uniform in
  /// [max(0, 1 - x), 1 + x]; 1 leaves the picture as it is.
  double brightness = 0.4;
  double contrast = 0.4;
  double saturation = 0.2;

  /// Half width of the turn of the colour circle, in turns, in [0, 0.5].
  double hue = 0.1;

  /// All three channels become the luma.
  double grey_probability = 0.2;

  /// Gaussian blur, standard deviation in px of the view,
  /// 0 <= min <= max <= 100, uniform.
  double blur_probability = 1.0;
  double blur_min_sigma = 0.1;
  double blur_max_sigma = 2.0;

  /// Samples of at least the threshold, in [0, 256], become 255 - sample.
  double solarize_probability = 0.0;
  int solarize_threshold = 128;
};

/// Throws UsageError if a field is out of its range, naming it as NAME.FIELD
/// with the value found and the range expected.
void validate(const ViewOptions& options, const std::string& name);

/// The four operations of the colour jitter.
enum class JitterOp : std::uint8_t {
  kBrightness,
  kContrast,
  kSaturation,
  kHue,
};

/// All that is random about one view. Parameters are drawn also where their
/// operation is not applied.
struct ViewDraws {
  RealBox crop;  ///< px of the picture; whole numbers on the grid of pixels
  bool flip = false;
  bool jitter = false;
  std::array<JitterOp, 4> jitter_order{
      JitterOp::kBrightness,
      JitterOp::kContrast,
      JitterOp::kSaturation,
      JitterOp::kHue};
  double brightness_factor = 1;
  double contrast_factor = 1;
  double saturation_factor = 1;
  double hue_shift = 0;  ///< turns, in [-0.5, 0.5]
  bool grey = false;
  bool blur = false;
  double blur_sigma = 1;  ///< px
  bool solarize = false;

  friend bool operator==(const ViewDraws&, const ViewDraws&) = default;
};

/// How many uniforms `draw_view` takes from its stream, always.
inline constexpr int kUniformsPerView = 53;

/// Draws the parameters of one view of a width x height picture (px, >= 1).
///
/// On the grid of pixels the crop is torchvision's RandomResizedCrop: up to ten
/// tries of an area and an aspect, rounded to whole sides, of which the first
/// that fits is placed uniformly; if none fits, the largest central crop within
/// the range of aspects. A fractional crop is the first try, its sides not
/// rounded but cut to the picture and then to the range of aspects, and at
/// least 1 px; it is placed uniformly as well.
///
/// The crop lies inside the picture, whose sides are below 2^24 px.
///
/// Exactly `kUniformsPerView` numbers u in [0, 1) are taken, in this order, so
/// that no option changes what another option draws:
///
///     10 x (area, aspect, top, left)   unused tries are skipped
///     flip; jitter                     u < probability
///     order (3)                        Fisher-Yates from the last place down
///     brightness, contrast, saturation, hue
///     grey; blur; sigma; solarize
///
/// Throws std::invalid_argument if width or height is below 1. `options` must
/// be valid. Cost: under 1 us.
[[nodiscard]] ViewDraws draw_view(
    const ViewOptions& options,
    int width,
    int height,
    RandomStream& stream);

/// Makes the view that `draws` describes: crop, resize (antialiased), flip,
/// jitter, grey, blur, solarize. A crop on the grid of pixels is cut out before
/// it is resized (`resize_crop`), a fractional one is not (`resize_part`).
///
///     image    [height, width, channels]   channels: 1 or 3
///     returns  [size, size, channels]
///
/// In a grey picture saturation, hue and grey change nothing.
/// Deterministic to the byte; thread-safe. Cost, measured on one AVX-512 core
/// shared with other work: about 2 ms for 224 px in colour, 15 us for 28 px in
/// grey; temporary memory of two views and crop_height x size samples.
/// Throws std::invalid_argument if the channels are not 1 or 3 or the crop is
/// not inside the image.
[[nodiscard]] Image
augment(const Image& image, const ViewOptions& options, const ViewDraws& draws);

/// Mean and standard deviation per channel (red, green, blue), in units of the
/// full scale. The defaults are ImageNet's. Grey images use the first.
struct Normalization {
  std::array<float, 3> mean{0.485F, 0.456F, 0.406F};
  std::array<float, 3> stddev{0.229F, 0.224F, 0.225F};  ///< > 0
};

/// Writes (sample / 255 - mean) / stddev, planes one after the other.
///
///     image  [height, width, channels]    channels: 1 or 3
///     chw    [channels, height, width]    float32, the caller's memory
///
/// Each step is rounded to float32, as torchvision's ToTensor and Normalize do:
/// the results are the same bits. Thread-safe.
void normalize_into(
    const Image& image,
    const Normalization& normalization,
    float* chw);

/// The view for evaluation: the shorter side resized to `resize_px` (bicubic,
/// antialiased; the longer to floor(resize_px * longer / shorter)), then the
/// centre square of `crop_px`, with black where that reaches over the edge. The
/// bytes of torchvision's Resize and CenterCrop on Pillow images; an image that
/// has that size already is returned as it is.
///
///     image    [height, width, channels]       channels: 1 or 3
///     returns  [crop_px, crop_px, channels]
///
/// Deterministic; thread-safe. Throws std::invalid_argument if the channels are
/// not 1 or 3 or a size is below 1.
[[nodiscard]] Image
evaluation_view(const Image& image, int resize_px, int crop_px);

}  // namespace barlow::data
