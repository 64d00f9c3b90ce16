// SPDX-License-Identifier: MIT
//
// Decoded files against Pillow (tests/oracle/decode.py), exactly: both use the
// same codec libraries with the same settings, and what they leave is integer
// arithmetic.

#include "barlow/data/decode.h"

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/augment_oracle.h"
#include "data/codecs.h"
#include "data/dataset_kinds.h"
#include "support/tensors.h"

namespace barlow::data {
namespace {

Image decode_oracle_file(const std::string& name) {
  const auto path = std::filesystem::path(BARLOW_ORACLE_DIR) / "decode" / name;
  return decode_image(detail::read_file(path), path.string());
}

class DecodeFormat : public testing::TestWithParam<const char*> {};

TEST_P(DecodeFormat, GivesPillowsPixels) {
  int files = 0;
  for (const auto& [name, pixels] :
       test::read_oracle(BARLOW_ORACLE_DIR, "decode.safetensors")) {
    if (std::filesystem::path(name).extension() == GetParam()) {
      expect_same(decode_oracle_file(name), pixels, name);
      ++files;
    }
  }
  EXPECT_GE(files, 10);
}

INSTANTIATE_TEST_SUITE_P(
    Formats,
    DecodeFormat,
    testing::Values(".jpg", ".png", ".webp", ".bmp"),
    [](const auto& format) { return std::string(format.param + 1); });

TEST(DecodeImage, RecognisesTheFormatByContentNotName) {
  const Image jpeg = decode_oracle_file("wrong_extension.png");
  EXPECT_EQ(jpeg.width, 97);
  EXPECT_EQ(jpeg.height, 61);
}

TEST(DecodeImage, TurnsOnlyPicturesWhoseOrientationIsOneOfEight) {
  for (int orientation = 0; orientation < 10; ++orientation) {
    const Image image = decode_oracle_file(
        "orientation" + std::to_string(orientation) + ".jpg");
    const bool turned = orientation >= 5 && orientation <= 8;
    EXPECT_EQ(image.width, turned ? 61 : 97) << orientation;
    EXPECT_EQ(image.height, turned ? 97 : 61) << orientation;
  }
}

TEST(Upright, PutsEveryPixelWhereExifSays) {
  // 1 2 3    The table of the eight orientations, by hand.
  // 4 5 6
  Image stored(3, 2, 1);
  stored.pixels = {1, 2, 3, 4, 5, 6};
  const std::vector<std::vector<std::uint8_t>> expected{
      {1, 2, 3, 4, 5, 6},
      {3, 2, 1, 6, 5, 4},
      {6, 5, 4, 3, 2, 1},
      {4, 5, 6, 1, 2, 3},
      {1, 4, 2, 5, 3, 6},
      {4, 1, 5, 2, 6, 3},
      {6, 3, 5, 2, 4, 1},
      {3, 6, 2, 5, 1, 4}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Image image = detail::upright(stored, orientation);
    EXPECT_EQ(image.width, orientation < 5 ? 3 : 2);
    EXPECT_EQ(image.pixels, expected[static_cast<std::size_t>(orientation - 1)])
        << orientation;
  }
}

TEST(ToChannels, GivesPillowsLuma) {
  for (const auto& [name, pixels] :
       test::read_oracle(BARLOW_ORACLE_DIR, "decode_luma.safetensors")) {
    expect_same(to_channels(decode_oracle_file(name), 1), pixels, name);
  }
}

TEST(ToChannels, ReplicatesGreyAndKeepsWhatFits) {
  Image grey(2, 1, 1);
  grey.pixels = {7, 250};
  const Image rgb = to_channels(grey, 3);
  EXPECT_EQ(rgb.channels, 3);
  const std::vector<std::uint8_t> expected{7, 7, 7, 250, 250, 250};
  EXPECT_EQ(rgb.pixels, expected);
  EXPECT_EQ(to_channels(rgb, 3).pixels, expected);
  EXPECT_EQ(to_channels(rgb, 1).pixels, grey.pixels);
  EXPECT_THROW(to_channels(grey, 4), std::invalid_argument);
  EXPECT_THROW(to_channels(Image(1, 1, 2), 1), std::invalid_argument);
}

}  // namespace
}  // namespace barlow::data
