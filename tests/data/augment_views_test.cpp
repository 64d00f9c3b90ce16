// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/data/augment.h"
#include "data/augment_oracle.h"

namespace barlow::data {
namespace {

/// A row of pipeline.draws, in the order of DRAWS in tests/oracle/augment.py.
ViewDraws read_draws(const double* row) {
  ViewDraws draws;
  draws.crop = {
      static_cast<float>(row[0]),
      static_cast<float>(row[1]),
      static_cast<float>(row[0] + row[2]),
      static_cast<float>(row[1] + row[3])};
  draws.flip = row[5] != 0;
  draws.jitter = row[6] != 0;
  for (std::size_t i = 0; i < 4; ++i) {
    draws.jitter_order[i] =
        static_cast<JitterOp>(static_cast<std::uint8_t>(row[7 + i]));
  }
  draws.brightness_factor = row[11];
  draws.contrast_factor = row[12];
  draws.saturation_factor = row[13];
  draws.hue_shift = row[14];
  draws.grey = row[15] != 0;
  draws.blur = row[16] != 0;
  draws.blur_sigma = row[17];
  draws.solarize = row[18] != 0;
  return draws;
}

std::vector<float> normalized(const Image& image) {
  std::vector<float> chw(image.pixels.size());
  normalize_into(image, Normalization{}, chw.data());
  return chw;
}

TEST(Augment, EqualsTorchvisionForTheSameDraws) {
  const AugmentOracle oracle;
  for (int p = 0; p < oracle.picture_count(); ++p) {
    const torch::Tensor rows =
        oracle.tensor("pipeline.draws." + std::to_string(p));
    const auto* row = rows.data_ptr<double>();
    for (int k = 0; k < rows.size(0); ++k, row += rows.size(1)) {
      ViewOptions options;
      options.size = static_cast<int>(row[4]);
      expect_same(
          augment(oracle.picture(p), options, read_draws(row)),
          oracle.tensor("pipeline", p, k),
          "picture " + std::to_string(p) + ", draws " + std::to_string(k));
    }
  }
}

TEST(Augment, ResizesAFractionalCropAsPillowDoes) {
  const AugmentOracle oracle;
  const torch::Tensor rows = oracle.tensor("part.boxes.0");
  const auto* row = rows.data_ptr<double>();
  int views = 0;
  for (int k = 0; k < rows.size(0); ++k, row += rows.size(1)) {
    if (row[4] != row[5]) {
      continue;
    }
    ViewOptions options;
    options.size = static_cast<int>(row[4]);
    options.crop_grid = CropGrid::kFractional;
    options.interpolation =
        row[6] != 0 ? Interpolation::kBilinear : Interpolation::kBicubic;
    const ViewDraws draws{
        .crop = {
            static_cast<float>(row[0]),
            static_cast<float>(row[1]),
            static_cast<float>(row[2]),
            static_cast<float>(row[3])}};
    expect_same(
        augment(oracle.picture(0), options, draws),
        oracle.tensor("part", 0, k),
        "box " + std::to_string(k));
    ++views;
  }
  EXPECT_GT(views, 10);
}

TEST(NormalizeInto, EqualsTorchvisionToTheBit) {
  const AugmentOracle oracle;
  for (int p = 0; p < oracle.picture_count(); ++p) {
    const torch::Tensor rows =
        oracle.tensor("pipeline.draws." + std::to_string(p));
    for (int k = 0; k < 4; ++k) {
      const auto* row = rows.data_ptr<double>() + k * rows.size(1);
      ViewOptions options;
      options.size = static_cast<int>(row[4]);
      const std::vector<float> actual =
          normalized(augment(oracle.picture(p), options, read_draws(row)));
      const torch::Tensor expected = oracle.tensor("normalized", p, k);
      ASSERT_EQ(static_cast<std::size_t>(expected.numel()), actual.size());
      EXPECT_TRUE(
          std::equal(actual.begin(), actual.end(), expected.data_ptr<float>()))
          << "picture " << p << ", draws " << k;
    }
  }
}

TEST(EvaluationView, EqualsTorchvision) {
  const AugmentOracle oracle;
  const torch::Tensor sizes = oracle.tensor("evaluation.sizes");
  for (int p = 0; p < oracle.picture_count(); ++p) {
    for (int k = 0; k < sizes.size(0); ++k) {
      const auto* size = sizes.data_ptr<std::int64_t>() + 2 * k;
      expect_same(
          evaluation_view(
              oracle.picture(p),
              static_cast<int>(size[0]),
              static_cast<int>(size[1])),
          oracle.tensor("evaluation", p, k),
          "picture " + std::to_string(p) + ", sizes " + std::to_string(k));
    }
  }
}

TEST(EvaluationView, ReturnsAnImageOfThatSizeAsItIs) {
  const AugmentOracle oracle;
  const Image garment = oracle.picture(2);
  ASSERT_EQ(garment.width, 28);
  EXPECT_EQ(evaluation_view(garment, 28, 28).pixels, garment.pixels);
}

TEST(EvaluationView, RefusesSizesBelowOne) {
  const Image image(8, 6, 3);
  EXPECT_THROW((void)evaluation_view(image, 0, 4), std::invalid_argument);
  EXPECT_THROW((void)evaluation_view(image, 4, 0), std::invalid_argument);
  EXPECT_THROW((void)evaluation_view(Image(), 4, 4), std::invalid_argument);
}

TEST(Augment, LeavesThePictureAloneWithAllOptionsOff) {
  const AugmentOracle oracle;
  const Image garment = oracle.picture(2);
  ViewOptions options;
  options.size = 28;
  const ViewDraws draws{.crop = {0, 0, 28, 28}};
  EXPECT_EQ(augment(garment, options, draws).pixels, garment.pixels);
}

TEST(Augment, SkipsTheLossyHueConversionWhereTheRangeIsZero) {
  const AugmentOracle oracle;
  const Image photo = oracle.picture(8);
  ViewOptions options;
  options.size = photo.height;
  const auto side = static_cast<float>(photo.height);
  const ViewDraws draws{.crop = {0, 0, side, side}, .jitter = true};
  const Image with_hue = augment(photo, options, draws);
  options.hue = 0;
  const Image without = augment(photo, options, draws);
  EXPECT_NE(with_hue.pixels, without.pixels);
  EXPECT_TRUE(std::equal(
      without.row(0),
      without.row(0) + without.row_bytes(),
      photo.row(0)));
}

TEST(Augment, MakesViewsOfPicturesOfAnyShape) {
  ViewOptions options;
  options.size = 24;
  options.grey_probability = 0.5;
  options.solarize_probability = 0.5;
  const std::vector<std::array<int, 2>>
      shapes{{1, 1}, {1, 40}, {40, 1}, {2, 3}, {3, 500}, {23, 25}};
  for (int channels : {1, 3}) {
    for (const auto& [width, height] : shapes) {
      Image image(width, height, channels);
      RandomStream stream({.seed = 3, .image = image.pixels.size()});
      for (std::uint8_t& sample : image.pixels) {
        sample = static_cast<std::uint8_t>(stream.integer(256));
      }
      for (int i = 0; i < 50; ++i) {
        options.crop_grid =
            i % 2 == 0 ? CropGrid::kPixels : CropGrid::kFractional;
        const Image view =
            augment(image, options, draw_view(options, width, height, stream));
        ASSERT_EQ(view.width, 24);
        ASSERT_EQ(view.height, 24);
        ASSERT_EQ(view.channels, channels);
      }
    }
  }
}

TEST(Augment, RefusesACropOutsideOfThePicture) {
  const Image image(8, 6, 3);
  const ViewDraws draws{.crop = {3, 0, 9, 6}};
  ViewOptions fractional;
  fractional.crop_grid = CropGrid::kFractional;
  EXPECT_THROW((void)augment(image, fractional, draws), std::invalid_argument);
  EXPECT_THROW((void)augment(image, {}, draws), std::invalid_argument);
}

/// The message of the UsageError that `validate` throws; "" if it accepts.
std::string refusal(const ViewOptions& options) {
  try {
    validate(options, "view_a");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ViewOptions, DefaultsAreValid) {
  EXPECT_EQ(refusal({}), "");
}

TEST(ViewOptions, RefusalNamesTheFieldTheValueAndTheRange) {
  EXPECT_EQ(
      refusal({.flip_probability = 1.5}),
      "view_a.flip_probability is 1.5; expected a number in [0, 1]");
  EXPECT_EQ(
      refusal({.min_area = 0.5, .max_area = 0.25}),
      "view_a.max_area is 0.25; expected a number of at least min_area = 0.5");
  EXPECT_EQ(
      refusal({.min_area = 0}),
      "view_a.min_area is 0; expected a number in (0, 1]");
}

TEST(ViewOptions, RefusesEachFieldOutOfItsRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<ViewOptions> bad{
      {.size = 0},
      {.size = 16385},
      {.min_area = nan},
      {.max_area = 1.01},
      {.min_aspect = 0},
      {.max_aspect = 0.5},
      {.max_aspect = 1001},
      {.flip_probability = -0.1},
      {.jitter_probability = nan},
      {.brightness = -1},
      {.contrast = 101},
      {.saturation = -0.1},
      {.hue = 0.51},
      {.grey_probability = 2},
      {.blur_probability = 1.1},
      {.blur_min_sigma = -0.1},
      {.blur_max_sigma = 0.05},
      {.blur_max_sigma = 101},
      {.solarize_probability = -1},
      {.solarize_threshold = 257}};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_NE(refusal(bad[i]), "") << "case " << i;
  }
}

}  // namespace
}  // namespace barlow::data
