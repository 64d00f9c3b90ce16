// SPDX-License-Identifier: MIT

#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "barlow/data/augment.h"
#include "barlow/data/blur.h"
#include "barlow/data/color.h"
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

}  // namespace
}  // namespace barlow::data
