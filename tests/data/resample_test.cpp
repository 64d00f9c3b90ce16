// SPDX-License-Identifier: MIT

#include "barlow/data/resample.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/augment_oracle.h"

namespace barlow::data {
namespace {

constexpr auto kBicubic = Interpolation::kBicubic;
constexpr auto kBilinear = Interpolation::kBilinear;

void expect_crops_equal_torchvision(
    const std::string& name,
    Interpolation interpolation) {
  const AugmentOracle oracle;
  for (int p = 0; p < oracle.picture_count(); ++p) {
    const torch::Tensor boxes =
        oracle.tensor("resize.boxes." + std::to_string(p));
    const auto* b = boxes.data_ptr<std::int64_t>();
    for (int k = 0; k < boxes.size(0); ++k, b += 6) {
      const Box box{
          .left = static_cast<int>(b[0]),
          .top = static_cast<int>(b[1]),
          .width = static_cast<int>(b[2]),
          .height = static_cast<int>(b[3])};
      const Image resized = resize_crop(
          oracle.picture(p),
          box,
          static_cast<int>(b[4]),
          static_cast<int>(b[5]),
          interpolation);
      expect_same(
          resized,
          oracle.tensor(name, p, k),
          "picture " + std::to_string(p) + ", box " + std::to_string(k));
    }
  }
}

TEST(ResizeCrop, BicubicEqualsTorchvision) {
  expect_crops_equal_torchvision("resize", kBicubic);
}

TEST(ResizeCrop, BilinearEqualsTorchvision) {
  expect_crops_equal_torchvision("bilinear", kBilinear);
}

TEST(ResizePart, EqualsPillowToTheByte) {
  const AugmentOracle oracle;
  for (int p = 0; p < oracle.picture_count(); ++p) {
    const torch::Tensor rows = oracle.tensor("part.boxes." + std::to_string(p));
    const auto* row = rows.data_ptr<double>();
    for (int k = 0; k < rows.size(0); ++k, row += rows.size(1)) {
      const RealBox box{
          .left = static_cast<float>(row[0]),
          .top = static_cast<float>(row[1]),
          .right = static_cast<float>(row[2]),
          .bottom = static_cast<float>(row[3])};
      const Image resized = resize_part(
          oracle.picture(p),
          box,
          static_cast<int>(row[4]),
          static_cast<int>(row[5]),
          row[6] != 0 ? kBilinear : kBicubic);
      expect_same(
          resized,
          oracle.tensor("part", p, k),
          "picture " + std::to_string(p) + ", box " + std::to_string(k));
    }
  }
}

TEST(ResizePart, OfTheWholePictureIsTheResizedPicture) {
  const AugmentOracle oracle;
  const Image photo = oracle.picture(1);
  const Box box{.width = photo.width, .height = photo.height};
  const RealBox whole{
      .right = static_cast<float>(photo.width),
      .bottom = static_cast<float>(photo.height)};
  for (Interpolation interpolation : {kBicubic, kBilinear}) {
    EXPECT_EQ(
        resize_part(photo, whole, 96, 61, interpolation).pixels,
        resize_crop(photo, box, 96, 61, interpolation).pixels);
  }
}

TEST(Resize, KeepsAConstantPicture) {
  for (int channels : {1, 3}) {
    Image image(37, 11, channels);
    for (int level : {0, 1, 127, 254, 255}) {
      std::fill(
          image.pixels.begin(),
          image.pixels.end(),
          static_cast<std::uint8_t>(level));
      const std::vector<Image> results{
          resize_crop(image, {0, 0, 37, 11}, 20, 50, kBicubic),
          resize_crop(image, {3, 1, 8, 9}, 20, 50, kBilinear),
          resize_part(image, {0.3F, 1.7F, 30.2F, 10.9F}, 20, 50, kBicubic),
          resize_part(image, {0.3F, 1.7F, 1.2F, 1.9F}, 20, 50, kBilinear)};
      for (const Image& resized : results) {
        for (std::uint8_t sample : resized.pixels) {
          ASSERT_EQ(sample, level);
        }
      }
    }
  }
}

TEST(ResizeCrop, RefusesWhatIsNotInsideTheImage) {
  const Image image(8, 6, 3);
  const auto resize = [&](const Box& box, int width, int height) {
    return resize_crop(image, box, width, height, kBicubic);
  };
  EXPECT_NO_THROW((void)resize({2, 1, 6, 5}, 3, 3));
  EXPECT_THROW((void)resize({3, 1, 6, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({2, 2, 6, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({-1, 0, 6, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({0, 0, 0, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({0, 0, 8, 6}, 0, 3), std::invalid_argument);
  EXPECT_THROW(
      (void)resize_crop(Image(4, 4, 4), {0, 0, 4, 4}, 2, 2, kBicubic),
      std::invalid_argument);
}

TEST(ResizePart, RefusesWhatIsNotInsideTheImage) {
  const Image image(8, 6, 3);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto resize = [&](const RealBox& box, int width, int height) {
    return resize_part(image, box, width, height, kBilinear);
  };
  EXPECT_NO_THROW((void)resize({2.5F, 0.5F, 8, 6}, 3, 3));
  const std::vector<RealBox> bad{
      {2.5F, 0.5F, 8.001F, 6},
      {2.5F, 0.5F, 8, 6.001F},
      {-0.001F, 0, 8, 6},
      {0, -0.001F, 8, 6},
      {3, 0, 3, 6},
      {0, 4, 8, 3},
      {nan, 0, 8, 6},
      {0, 0, 8, nan}};
  for (const RealBox& box : bad) {
    EXPECT_THROW((void)resize(box, 3, 3), std::invalid_argument);
  }
  EXPECT_THROW((void)resize({0, 0, 8, 6}, 3, 0), std::invalid_argument);
  EXPECT_THROW(
      (void)resize_part(Image(4, 4, 2), {0, 0, 4, 4}, 2, 2, kBilinear),
      std::invalid_argument);
}

}  // namespace
}  // namespace barlow::data
