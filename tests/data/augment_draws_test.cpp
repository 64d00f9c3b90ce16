// SPDX-License-Identifier: MIT

#include "data/augment_draws.h"

#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace barlow::data {
namespace {

TEST(DrawView, IsAFunctionOfTheKey) {
  const ViewOptions options;
  ViewOptions fractional;
  fractional.crop_grid = CropGrid::kFractional;
  for (const ViewOptions& o : {options, fractional}) {
    EXPECT_EQ(draw(o, 5), draw(o, 5));
    EXPECT_FALSE(draw(o, 5) == draw(o, 6));
  }
}

TEST(DrawView, AlwaysTakesTheSameCountOfNumbers) {
  // The crop of the second never fits, that of the third fits at once.
  const std::vector<std::array<int, 2>> shapes{
      {500, 334},
      {1, 1000},
      {100, 100},
      {1, 1}};
  ViewOptions off;
  off.flip_probability = off.jitter_probability = off.grey_probability = 0;
  off.blur_probability = off.hue = off.brightness = 0;
  off.crop_grid = CropGrid::kFractional;
  for (const ViewOptions& options : {ViewOptions{}, off}) {
    for (const auto& [width, height] : shapes) {
      RandomStream stream({.seed = 2});
      (void)draw_view(options, width, height, stream);
      RandomStream counted({.seed = 2});
      for (int i = 0; i < kUniformsPerView; ++i) {
        (void)counted.uniform();
      }
      EXPECT_EQ(stream.next_u64(), counted.next_u64());
    }
  }
}

TEST(DrawView, AnOptionChangesOnlyItsOwnDraw) {
  ViewOptions changed;
  changed.min_area = 0.4;
  changed.min_aspect = 1;
  changed.crop_grid = CropGrid::kFractional;
  changed.flip_probability = 0.1;
  changed.jitter_probability = 0.1;
  changed.brightness = 0.1;
  changed.grey_probability = 0.9;
  const ViewOptions options;
  for (std::uint64_t image = 0; image < 200; ++image) {
    const ViewDraws a = draw(options, image);
    const ViewDraws b = draw(changed, image);
    EXPECT_EQ(a.jitter_order, b.jitter_order);
    EXPECT_EQ(a.contrast_factor, b.contrast_factor);
    EXPECT_EQ(a.saturation_factor, b.saturation_factor);
    EXPECT_EQ(a.hue_shift, b.hue_shift);
    EXPECT_EQ(a.blur, b.blur);
    EXPECT_EQ(a.blur_sigma, b.blur_sigma);
    EXPECT_EQ(a.solarize, b.solarize);
  }
}

TEST(DrawView, MoreProbableDrawsContainTheLessProbable) {
  ViewOptions more;
  more.flip_probability = 0.7;
  const ViewOptions options;
  for (std::uint64_t image = 0; image < 200; ++image) {
    EXPECT_LE(draw(options, image).flip, draw(more, image).flip);
  }
}

TEST(DrawView, OperationsHaveTheirProbabilities) {
  ViewOptions options;
  options.blur_probability = 0.1;
  options.solarize_probability = 0.2;
  const auto draws = many_draws(options);
  expect_frequency(draws, 0.5, [](const auto& d) { return d.flip; });
  expect_frequency(draws, 0.8, [](const auto& d) { return d.jitter; });
  expect_frequency(draws, 0.2, [](const auto& d) { return d.grey; });
  expect_frequency(draws, 0.1, [](const auto& d) { return d.blur; });
  expect_frequency(draws, 0.2, [](const auto& d) { return d.solarize; });
}

TEST(DrawView, ProbabilitiesZeroAndOneAreCertain) {
  ViewOptions options;
  options.flip_probability = 0;
  options.grey_probability = 1;
  for (const ViewDraws& d : many_draws(options)) {
    ASSERT_FALSE(d.flip);
    ASSERT_TRUE(d.grey);
    ASSERT_TRUE(d.blur);
    ASSERT_FALSE(d.solarize);
  }
}

TEST(DrawView, ParametersAreUniformInTheirRanges) {
  ViewOptions options;
  options.contrast = 1.5;  // the range is cut at 0
  const auto draws = many_draws(options);
  expect_uniform(draws, 0.6, 1.4, [](const auto& d) {
    return d.brightness_factor;
  });
  expect_uniform(draws, 0, 2.5, [](const auto& d) {
    return d.contrast_factor;
  });
  expect_uniform(draws, 0.8, 1.2, [](const auto& d) {
    return d.saturation_factor;
  });
  expect_uniform(draws, -0.1, 0.1, [](const auto& d) { return d.hue_shift; });
  expect_uniform(draws, 0.1, 2.0, [](const auto& d) { return d.blur_sigma; });
}

TEST(DrawView, AllOrdersOfTheJitterAreEquallyProbable) {
  std::map<std::array<JitterOp, 4>, int> counts;
  for (const ViewDraws& d : many_draws({})) {
    ++counts[d.jitter_order];
  }
  ASSERT_EQ(counts.size(), 24U);
  const double p = 1.0 / 24;
  for (const auto& [order, count] : counts) {
    EXPECT_NEAR(count, kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p)));
  }
}

TEST(DrawView, RefusesAnEmptyPicture) {
  RandomStream stream({.seed = 1});
  EXPECT_THROW((void)draw_view({}, 0, 5, stream), std::invalid_argument);
  EXPECT_THROW((void)draw_view({}, 5, 0, stream), std::invalid_argument);
}

}  // namespace
}  // namespace barlow::data
