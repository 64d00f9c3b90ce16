// SPDX-License-Identifier: MIT
//
// Files that are cut short, damaged, lying or no images: each is one line of
// Error and nothing worse. Run under the address sanitizer to see the latter.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/core/random.h"
#include "barlow/data/decode.h"
#include "data/codecs.h"
#include "data/dataset_kinds.h"

namespace barlow::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes oracle_file(const std::string& name) {
  return detail::read_file(
      std::filesystem::path(BARLOW_ORACLE_DIR) / "decode" / name);
}

/// The message of the Error, or nothing if the bytes are an image.
std::optional<std::string> error_of(
    std::span<const std::uint8_t> bytes,
    const DecodeLimits& limits = {}) {
  // A copy of exactly this size, so that a sanitizer sees reads beyond it.
  const Bytes copy(bytes.begin(), bytes.end());
  try {
    const Image image = decode_image(copy, "some/file.jpg", limits);
    EXPECT_EQ(
        image.pixels.size(),
        image.row_bytes() * static_cast<std::size_t>(image.height));
    return std::nullopt;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find("some/file.jpg: found "), 0U) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return message;
  }
}

void expect_error(
    std::span<const std::uint8_t> bytes,
    const std::string& part,
    const DecodeLimits& limits = {}) {
  const auto message = error_of(bytes, limits);
  ASSERT_TRUE(message) << "expected: " << part;
  EXPECT_NE(message->find(part), std::string::npos) << *message;
}

Bytes text(const std::string& characters) {
  return {characters.begin(), characters.end()};
}

std::size_t position(const Bytes& bytes, const std::string& characters) {
  const std::string all(bytes.begin(), bytes.end());
  return all.find(characters);
}

void put_big_endian(Bytes& bytes, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

class HostileFile : public testing::TestWithParam<const char*> {};

TEST_P(HostileFile, CutShortAnywhereIsAnError) {
  const Bytes whole = oracle_file(GetParam());
  ASSERT_FALSE(error_of(whole));
  // All lengths near the ends, where the headers are, and a few hundred others.
  const std::size_t step = 1 + whole.size() / 400;
  for (std::size_t length = 0; length < whole.size();) {
    EXPECT_TRUE(error_of(std::span(whole).first(length)))
        << "the first " << length << " of " << whole.size() << " bytes";
    const bool near = length < 120 || whole.size() - length < 40 + step;
    length += near ? 1 : step;
  }
}

TEST_P(HostileFile, DamagedAnywhereIsAnImageOrAnError) {
  const Bytes whole = oracle_file(GetParam());
  RandomStream stream({.seed = 5, .purpose = StreamPurpose::kTest});
  int errors = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Bytes damaged = whole;
    // Half of the trials among the first bytes, where sizes are.
    const auto range = trial % 2 == 0 ? damaged.size() : std::size_t{64};
    for (int k = 0; k <= trial % 3; ++k) {
      const double where = stream.uniform() * static_cast<double>(range);
      damaged[static_cast<std::size_t>(where) % damaged.size()] =
          static_cast<std::uint8_t>(stream.uniform() * 256);
    }
    errors += error_of(damaged, {.max_pixels = 1 << 20}) ? 1 : 0;
  }
  EXPECT_GT(errors, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Files,
    HostileFile,
    testing::Values(
        "orientation6.jpg",
        "progressive.jpg",
        "side17x33.jpg",
        "cmyk_noise.jpg",
        "rgb.png",
        "exif6.png",
        "palette_transparent.png",
        "interlaced5x9.png",
        "lossy_alpha.webp",
        "exif3_lossless.webp",
        "animated.webp",
        "bits4.bmp",
        "bits16_565.bmp",
        "os2.bmp"),
    [](const auto& file) {
      std::string name = file.param;
      name[name.find('.')] = '_';
      return name;
    });

TEST(DecodeImage, SaysWhatAFileIsThatIsNoImage) {
  expect_error({}, "an empty file, expected a JPEG, PNG, WebP or BMP image");
  expect_error(text("GIF89a........"), "a GIF image, expected");
  expect_error(text("\x89PNX...."), "begins with 89 50 4e 58");
  expect_error(text("<html>"), "begins with 3c 68 74 6d 6c 3e, expected");
  expect_error(text("BM"), "begins with 42 4d, expected");
  expect_error(text("BMW is a maker of cars, motorcycles"), "BMP image");
  expect_error(text("RIFF....WAVEfmt "), "begins with 52 49 46 46");
  expect_error(text("version https://git-lfs.github.com/spec"), "Git LFS");
}

TEST(DecodeImage, RefusesRandomBytes) {
  RandomStream stream({.seed = 6, .purpose = StreamPurpose::kTest});
  const std::vector<std::string> starts{
      "",
      "\xFF\xD8\xFF",
      "\x89PNG\r\n\x1A\n",
      "RIFF\x90\x01\x01\x01WEBPVP8 ",
      "BM"};
  for (const std::string& start : starts) {
    for (int trial = 0; trial < 100; ++trial) {
      Bytes bytes = text(start);
      for (int i = 0; i < 300; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(stream.uniform() * 256));
      }
      EXPECT_TRUE(error_of(bytes)) << start << trial;
    }
  }
}

TEST(DecodeImage, RefusesHugePngBeforeAllocating) {
  Bytes png = oracle_file("rgb.png");
  put_big_endian(png, 16, 100'000);
  put_big_endian(png, 20, 100'000);
  // The checksum of the header, as a liar would make it.
  put_big_endian(png, 29, 0x27309c9f);
  const auto message = error_of(png);
  ASSERT_TRUE(message);
  EXPECT_NE(message->find("100000 x 100000 px, expected"), std::string::npos)
      << *message;
}

TEST(DecodeImage, RefusesHugeJpegBeforeAllocating) {
  Bytes jpeg = oracle_file("progressive.jpg");
  const std::size_t frame = position(jpeg, "\xFF\xC2");
  put_big_endian(jpeg, frame + 5, 65'500U << 16U | 65'500U);
  expect_error(jpeg, "65500 x 65500 px, expected at most 178956970 px");
}

TEST(DecodeImage, RefusesHugeWebpBeforeAllocating) {
  Bytes webp = oracle_file("animated.webp");
  const std::size_t canvas = position(webp, "VP8X") + 12;
  for (std::size_t i = 0; i < 6; ++i) {
    webp[canvas + i] = i % 3 == 2 ? 0x00 : i % 3 == 1 ? 0xFF : 0xFE;
  }
  expect_error(webp, "65535 x 65535 px, expected at most");
}

TEST(DecodeImage, RefusesHugeBmpBeforeAllocating) {
  Bytes bmp = oracle_file("rgb.bmp");
  bmp[21] = 0x7F;
  expect_error(bmp, " px, expected at most 178956970 px");
  bmp[21] = 0xFF;
  expect_error(bmp, "found a width of -");
  bmp[21] = 0;
  for (std::size_t i = 22; i < 26; ++i) {
    bmp[i] = i == 25 ? 0x80 : 0;  // the height that has no negative
  }
  expect_error(bmp, "2147483648 px, expected at most");
}

TEST(DecodeImage, AppliesTheCallersLimit) {
  const Bytes jpeg = oracle_file("progressive.jpg");
  EXPECT_FALSE(error_of(jpeg, {.max_pixels = 97 * 61}));
  expect_error(
      jpeg,
      "97 x 61 px, expected at most 5916 px",
      {.max_pixels = 97 * 61 - 1});
}

TEST(DecodeImage, RefusesRunLengthBitmapsByName) {
  Bytes bmp = oracle_file("palette.bmp");
  bmp[30] = 1;
  expect_error(bmp, "compression 1, expected an uncompressed one");
}

TEST(DecodeImage, RefusesJpegWithEndlessScans) {
  const Bytes jpeg = oracle_file("progressive.jpg");
  const auto start =
      jpeg.begin() + static_cast<std::ptrdiff_t>(position(jpeg, "\xFF\xDA"));
  // Up to the next marker: the first pass over the lowest frequencies, which
  // may come again.
  auto end = start + 2;
  while (end[0] != 0xFF || end[1] == 0) {
    ++end;
  }
  const auto repeated = [&](int times) {
    Bytes bytes(jpeg.begin(), start);
    for (int i = 0; i < times; ++i) {
      bytes.insert(bytes.end(), start, end);
    }
    bytes.insert(bytes.end(), end, jpeg.end());
    return bytes;
  };
  EXPECT_FALSE(error_of(repeated(100)));
  expect_error(repeated(600), "more than 500 scans");
}

TEST(ExifOrientation, IsOneForDamagedBlocksAndNeverReadsBeyondThem) {
  const Bytes jpeg = oracle_file("orientation6.jpg");
  const std::size_t start = position(jpeg, std::string("Exif\0\0", 6));
  const Bytes block(
      jpeg.begin() + static_cast<std::ptrdiff_t>(start),
      jpeg.begin() + static_cast<std::ptrdiff_t>(start) + 44);
  EXPECT_EQ(detail::exif_orientation(block), 6);
  for (std::size_t length = 0; length < block.size(); ++length) {
    const Bytes cut(
        block.begin(),
        block.begin() + static_cast<std::ptrdiff_t>(length));
    const int orientation = detail::exif_orientation(cut);
    EXPECT_TRUE(orientation == 1 || orientation == 6) << length;
  }
  for (std::size_t at = 0; at < block.size(); ++at) {
    Bytes damaged = block;
    damaged[at] = 0xFF;
    const int orientation = detail::exif_orientation(damaged);
    EXPECT_TRUE(orientation == 1 || orientation == 6) << at;
  }
}

}  // namespace
}  // namespace barlow::data
