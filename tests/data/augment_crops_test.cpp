// SPDX-License-Identifier: MIT

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "data/augment_draws.h"

namespace barlow::data {
namespace {

void expect_inside(const RealBox& crop, int width, int height) {
  ASSERT_GE(crop.left, 0);
  ASSERT_GE(crop.top, 0);
  ASSERT_LT(crop.left, crop.right);
  ASSERT_LT(crop.top, crop.bottom);
  ASSERT_LE(crop.right, static_cast<float>(width));
  ASSERT_LE(crop.bottom, static_cast<float>(height));
}

TEST(DrawView, CropsHaveAreasAndAspectsInRangeAndLieInside) {
  const ViewOptions options;
  for (const ViewDraws& d : many_draws(options)) {
    expect_inside(d.crop, 500, 334);
    // Sides are rounded by half a pixel at most, and are at least 100 px.
    const double w = d.crop.width();
    const double h = d.crop.height();
    const double slack = 0.5 / w + 0.5 / h + 1e-4;
    ASSERT_GE(w * h / (500.0 * 334), options.min_area * (1 - slack));
    ASSERT_LE(w * h / (500.0 * 334), options.max_area * (1 + slack));
    ASSERT_GE(w / h, options.min_aspect * (1 - slack));
    ASSERT_LE(w / h, options.max_aspect * (1 + slack));
  }
}

TEST(DrawView, SmallCropsAreUniformInAreaLogAspectAndPlace) {
  // At most half of the area at these aspects always fits a square at the first
  // try, so the distributions are those of the draws.
  ViewOptions options;
  options.max_area = 0.5;
  std::vector<ViewDraws> draws;
  const int side = 100000;  // makes rounding negligible
  for (std::uint64_t image = 0; image < kDraws; ++image) {
    draws.push_back(draw(options, image, side, side));
  }
  const auto share = [&](const ViewDraws& d) {
    return static_cast<double>(d.crop.width()) / side * d.crop.height() / side;
  };
  const auto log_aspect = [](const ViewDraws& d) {
    return std::log(static_cast<double>(d.crop.width()) / d.crop.height());
  };
  // The slack holds the rounding of the sides, 2e-5 of them.
  expect_uniform(draws, 0.08 - 1e-5, 0.5 + 2e-5, share);
  const double bound = std::log(4.0 / 3.0) + 4e-5;
  expect_uniform(draws, -bound, bound, log_aspect);
  expect_uniform(draws, 0, 1, [&](const ViewDraws& d) {
    return d.crop.left / static_cast<double>(side - d.crop.width());
  });
  expect_uniform(draws, 0, 1, [&](const ViewDraws& d) {
    return d.crop.top / static_cast<double>(side - d.crop.height());
  });
}

TEST(DrawView, AreaAspectAndPlaceAreIndependent) {
  ViewOptions options;
  options.max_area = 0.5;
  const int side = 100000;
  std::array<std::array<double, 4>, 4> products{};
  for (std::uint64_t image = 0; image < kDraws; ++image) {
    const ViewDraws d = draw(options, image, side, side);
    const double w = d.crop.width();
    const double h = d.crop.height();
    const double share = w / side * h / side;
    const std::array<double, 4> unit{
        (share - 0.08) / 0.42,
        0.5 + std::log(w / h) / (2 * std::log(4.0 / 3.0)),
        d.crop.left / (side - w),
        d.crop.top / (side - h)};
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        products[i][j] += (unit[i] - 0.5) * (unit[j] - 0.5);
      }
    }
  }
  // The product of two independent ones has standard deviation 1/12.
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NEAR(products[i][j], 0, 5.0 / 12 * std::sqrt(kDraws))
          << i << ' ' << j;
    }
  }
}

TEST(DrawView, TakesTheFirstTryThatFits) {
  ViewOptions options;
  options.min_area = 0.6;  // about half of the tries fit
  std::array<int, 3> counts{};
  for (std::uint64_t image = 0; image < 1000; ++image) {
    RandomStream stream(
        {.seed = 11, .purpose = StreamPurpose::kAugmentation, .image = image});
    const ViewDraws d = draw(options, image);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const double area = stream.uniform(0.6, 1.0) * 500 * 334;
      const double log_aspect =
          stream.uniform(std::log(3.0 / 4.0), std::log(4.0 / 3.0));
      (void)stream.uniform();
      (void)stream.uniform();
      const double w = std::round(std::sqrt(area * std::exp(log_aspect)));
      const double h = std::round(std::sqrt(area / std::exp(log_aspect)));
      if (w <= 500 && h <= 334) {
        ASSERT_EQ(d.crop.width(), w);
        ASSERT_EQ(d.crop.height(), h);
        ++counts[i];
        break;
      }
    }
  }
  for (int count : counts) {
    EXPECT_GT(count, 50);
  }
}

TEST(DrawView, EveryPlaceOfACropIsEquallyProbable) {
  // The crop is 3 x 3 in 5 x 3: three places.
  ViewOptions options;
  options.min_area = options.max_area = 9.0 / 15.0;
  options.min_aspect = options.max_aspect = 1;
  std::vector<ViewDraws> draws;
  for (std::uint64_t image = 0; image < kDraws; ++image) {
    draws.push_back(draw(options, image, 5, 3));
    ASSERT_EQ(draws.back().crop.width(), 3);
    ASSERT_EQ(draws.back().crop.height(), 3);
  }
  for (float left : {0.0F, 1.0F, 2.0F}) {
    expect_frequency(draws, 1.0 / 3, [left](const ViewDraws& d) {
      return d.crop.left == left;
    });
  }
}

TEST(DrawView, FallsBackToTheLargestCentralCropInTheRangeOfAspects) {
  ViewOptions options;
  options.min_area = 0.9;
  const ViewDraws tall = draw(options, 0, 30, 1000);
  EXPECT_EQ(tall.crop.width(), 30);
  EXPECT_EQ(tall.crop.height(), 40);  // 30 / (3/4)
  EXPECT_EQ(tall.crop.left, 0);
  EXPECT_EQ(tall.crop.top, 480);
  const ViewDraws wide = draw(options, 0, 1001, 30);
  EXPECT_EQ(wide.crop.width(), 40);  // 30 * 4/3
  EXPECT_EQ(wide.crop.left, 480);    // (1001 - 40) / 2, rounded down
  EXPECT_EQ(wide.crop.height(), 30);
}

ViewOptions fractional() {
  ViewOptions options;
  options.crop_grid = CropGrid::kFractional;
  return options;
}

TEST(DrawView, FractionalCropsLieInsidePicturesOfAnyShape) {
  const std::vector<std::array<int, 2>> shapes{
      {28, 28},
      {500, 334},
      {30, 1000},
      {1000, 3},
      {1, 1},
      {1, 7},
      {65535, 2}};
  ViewOptions whole = fractional();
  whole.min_area = 0.99;
  ViewOptions tiny = fractional();
  tiny.min_area = tiny.max_area = 1e-12;
  ViewOptions wide = fractional();
  wide.min_aspect = 3;
  wide.max_aspect = 4;
  for (const ViewOptions& options : {fractional(), whole, tiny, wide}) {
    for (const auto& [width, height] : shapes) {
      for (std::uint64_t image = 0; image < 2000; ++image) {
        expect_inside(draw(options, image, width, height).crop, width, height);
      }
    }
  }
}

TEST(DrawView, FractionalCropsAreUniformInAreaLogAspectAndPlace) {
  // In a picture of 28 px, where a grid of pixels would be coarse.
  ViewOptions options = fractional();
  options.max_area = 0.5;  // always fits
  std::vector<ViewDraws> draws;
  for (std::uint64_t image = 0; image < kDraws; ++image) {
    draws.push_back(draw(options, image, 28, 28));
  }
  // The slack holds the rounding of the edges to float32, 1e-6 px.
  expect_uniform(draws, 0.08 - 1e-6, 0.5 + 1e-6, [](const ViewDraws& d) {
    return d.crop.width() / 28.0 * d.crop.height() / 28.0;
  });
  const double bound = std::log(4.0 / 3.0) + 1e-6;
  expect_uniform(draws, -bound, bound, [](const ViewDraws& d) {
    return std::log(d.crop.width() / d.crop.height());
  });
  // 8 px at least are left and right of the crop: 1e-6 px are 1e-7 of them.
  expect_uniform(draws, -1e-6, 1 + 1e-6, [](const ViewDraws& d) {
    return d.crop.left / (28.0 - d.crop.width());
  });
  expect_uniform(draws, -1e-6, 1 + 1e-6, [](const ViewDraws& d) {
    return d.crop.top / (28.0 - d.crop.height());
  });
}

TEST(DrawView, FractionalCropsAreCutToThePictureAndKeepTheirAspect) {
  ViewOptions options = fractional();
  options.min_area = 0.9;
  int as_wide = 0;
  int as_high = 0;
  for (std::uint64_t image = 0; image < 1000; ++image) {
    const RealBox square = draw(options, image, 28, 28).crop;
    as_wide += square.width() == 28 ? 1 : 0;
    as_high += square.height() == 28 ? 1 : 0;
    const RealBox tall = draw(options, image, 30, 1000).crop;
    ASSERT_EQ(tall.width(), 30);
    ASSERT_NEAR(tall.height(), 40, 1e-4);  // 30 / (3/4)
    const RealBox wide = draw(options, image, 1000, 30).crop;
    ASSERT_NEAR(wide.width(), 40, 1e-4);
    ASSERT_EQ(wide.height(), 30);
  }
  // Each is cut if its square, area times aspect or its inverse, is above 1.
  EXPECT_GT(as_wide, 300);
  EXPECT_GT(as_high, 300);
}

TEST(DrawView, OneFractionalCropIsThatOfTheFirstTry) {
  ViewOptions options = fractional();
  options.max_area = 0.5;
  for (std::uint64_t image = 0; image < 200; ++image) {
    const RealBox real = draw(options, image).crop;
    options.crop_grid = CropGrid::kPixels;
    const RealBox whole = draw(options, image).crop;
    options.crop_grid = CropGrid::kFractional;
    ASSERT_NEAR(real.width(), whole.width(), 0.501);
    ASSERT_NEAR(real.height(), whole.height(), 0.501);
    ASSERT_NEAR(real.left, whole.left, 1.501);
    ASSERT_NEAR(real.top, whole.top, 1.501);
  }
}

TEST(DrawView, FallbackNeverRoundsASideToZero) {
  ViewOptions options;
  options.min_aspect = 3;
  options.max_aspect = 4;
  const ViewDraws d = draw(options, 0, 1, 1);
  EXPECT_EQ(d.crop.width(), 1);
  EXPECT_EQ(d.crop.height(), 1);
}

}  // namespace
}  // namespace barlow::data
