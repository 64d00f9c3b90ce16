// SPDX-License-Identifier: MIT

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "data/augment_draws.h"

namespace barlow::data {
namespace {

TEST(DrawView, CropsHaveAreasAndAspectsInRangeAndLieInside) {
  const ViewOptions options;
  for (const ViewDraws& d : many_draws(options)) {
    ASSERT_GE(d.crop_left, 0);
    ASSERT_GE(d.crop_top, 0);
    ASSERT_LE(d.crop_left + d.crop_width, 500);
    ASSERT_LE(d.crop_top + d.crop_height, 334);
    // Sides are rounded by half a pixel at most, and are at least 100 px.
    const double w = d.crop_width;
    const double h = d.crop_height;
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
    return static_cast<double>(d.crop_width) / side * d.crop_height / side;
  };
  const auto log_aspect = [](const ViewDraws& d) {
    return std::log(static_cast<double>(d.crop_width) / d.crop_height);
  };
  // The slack holds the rounding of the sides, 2e-5 of them.
  expect_uniform(draws, 0.08 - 1e-5, 0.5 + 2e-5, share);
  const double bound = std::log(4.0 / 3.0) + 4e-5;
  expect_uniform(draws, -bound, bound, log_aspect);
  expect_uniform(draws, 0, 1, [&](const ViewDraws& d) {
    return d.crop_left / static_cast<double>(side - d.crop_width);
  });
  expect_uniform(draws, 0, 1, [&](const ViewDraws& d) {
    return d.crop_top / static_cast<double>(side - d.crop_height);
  });
}

TEST(DrawView, AreaAspectAndPlaceAreIndependent) {
  ViewOptions options;
  options.max_area = 0.5;
  const int side = 100000;
  std::array<std::array<double, 4>, 4> products{};
  for (std::uint64_t image = 0; image < kDraws; ++image) {
    const ViewDraws d = draw(options, image, side, side);
    const double w = d.crop_width;
    const double h = d.crop_height;
    const double share = w / side * h / side;
    const std::array<double, 4> unit{
        (share - 0.08) / 0.42,
        0.5 + std::log(w / h) / (2 * std::log(4.0 / 3.0)),
        d.crop_left / (side - w),
        d.crop_top / (side - h)};
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
        ASSERT_EQ(d.crop_width, w);
        ASSERT_EQ(d.crop_height, h);
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
    ASSERT_EQ(draws.back().crop_width, 3);
    ASSERT_EQ(draws.back().crop_height, 3);
  }
  for (int left : {0, 1, 2}) {
    expect_frequency(draws, 1.0 / 3, [left](const ViewDraws& d) {
      return d.crop_left == left;
    });
  }
}

TEST(DrawView, FallsBackToTheLargestCentralCropInTheRangeOfAspects) {
  ViewOptions options;
  options.min_area = 0.9;
  const ViewDraws tall = draw(options, 0, 30, 1000);
  EXPECT_EQ(tall.crop_width, 30);
  EXPECT_EQ(tall.crop_height, 40);  // 30 / (3/4)
  EXPECT_EQ(tall.crop_left, 0);
  EXPECT_EQ(tall.crop_top, 480);
  const ViewDraws wide = draw(options, 0, 1001, 30);
  EXPECT_EQ(wide.crop_width, 40);  // 30 * 4/3
  EXPECT_EQ(wide.crop_left, 480);  // (1001 - 40) / 2, rounded down
  EXPECT_EQ(wide.crop_height, 30);
}

TEST(DrawView, FallbackNeverRoundsASideToZero) {
  ViewOptions options;
  options.min_aspect = 3;
  options.max_aspect = 4;
  const ViewDraws d = draw(options, 0, 1, 1);
  EXPECT_EQ(d.crop_width, 1);
  EXPECT_EQ(d.crop_height, 1);
}

}  // namespace
}  // namespace barlow::data
