// SPDX-License-Identifier: MIT

#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "barlow/data/augment.h"
#include "barlow/data/blur.h"
#include "barlow/data/color.h"
#include "barlow/data/resample.h"
#include "data/augment_oracle.h"

namespace barlow::data {
namespace {

using Operation = std::function<void(Image&, double)>;

void expect_equal_to_pillow(
    const std::string& name,
    const Operation& operation) {
  const AugmentOracle oracle;
  const std::vector<double> values = oracle.values(name);
  ASSERT_FALSE(values.empty());
  for (int p = 0; p < oracle.picture_count(); ++p) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      Image image = oracle.picture(p);
      operation(image, values[k]);
      expect_same(
          image,
          oracle.tensor(name, p, static_cast<int>(k)),
          name + " " + std::to_string(values[k]) + ", picture " +
              std::to_string(p));
    }
  }
}

TEST(Color, BrightnessEqualsPillow) {
  expect_equal_to_pillow("brightness", adjust_brightness);
}

TEST(Color, ContrastEqualsPillow) {
  expect_equal_to_pillow("contrast", adjust_contrast);
}

TEST(Color, SaturationEqualsPillow) {
  expect_equal_to_pillow("saturation", adjust_saturation);
}

TEST(Color, HueEqualsTorchvision) {
  expect_equal_to_pillow("hue", adjust_hue);
}

TEST(Color, GreyEqualsTorchvision) {
  expect_equal_to_pillow("grey", [](Image& image, double) {
    make_grey(image);
  });
}

TEST(Color, FlipEqualsTorchvision) {
  expect_equal_to_pillow("flip", [](Image& image, double) {
    flip_horizontally(image);
  });
}

TEST(Color, SolarizeEqualsPillow) {
  expect_equal_to_pillow("solarize", [](Image& image, double threshold) {
    solarize(image, static_cast<int>(threshold));
  });
}

TEST(GaussianBlur, EqualsPillow) {
  expect_equal_to_pillow("blur", gaussian_blur);
}

TEST(GaussianBlur, RefusesSigmaOutOfRange) {
  Image image(4, 4, 3);
  EXPECT_THROW(gaussian_blur(image, -0.1), std::invalid_argument);
  EXPECT_THROW(gaussian_blur(image, 101), std::invalid_argument);
}

TEST(ResizeBicubic, OfACropEqualsTorchvision) {
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
      const Image resized = resize_bicubic(
          oracle.picture(p),
          box,
          static_cast<int>(b[4]),
          static_cast<int>(b[5]));
      expect_same(
          resized,
          oracle.tensor("resize", p, k),
          "picture " + std::to_string(p) + ", box " + std::to_string(k));
    }
  }
}

TEST(ResizeBicubic, KeepsAConstantPicture) {
  for (int channels : {1, 3}) {
    Image image(37, 11, channels);
    for (int level : {0, 1, 127, 254, 255}) {
      std::fill(
          image.pixels.begin(),
          image.pixels.end(),
          static_cast<std::uint8_t>(level));
      const Image resized = resize_bicubic(image, {0, 0, 37, 11}, 20, 50);
      for (std::uint8_t sample : resized.pixels) {
        ASSERT_EQ(sample, level);
      }
    }
  }
}

TEST(ResizeBicubic, RefusesWhatIsNotInsideTheImage) {
  const Image image(8, 6, 3);
  const auto resize = [&](const Box& box, int width, int height) {
    return resize_bicubic(image, box, width, height);
  };
  EXPECT_NO_THROW((void)resize({2, 1, 6, 5}, 3, 3));
  EXPECT_THROW((void)resize({3, 1, 6, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({2, 2, 6, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({-1, 0, 6, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({0, 0, 0, 5}, 3, 3), std::invalid_argument);
  EXPECT_THROW((void)resize({0, 0, 8, 6}, 0, 3), std::invalid_argument);
  EXPECT_THROW(
      (void)resize_bicubic(Image(4, 4, 4), {0, 0, 4, 4}, 2, 2),
      std::invalid_argument);
}

}  // namespace
}  // namespace barlow::data
