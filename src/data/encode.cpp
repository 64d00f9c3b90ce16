// SPDX-License-Identifier: MIT

#include "barlow/data/encode.h"

#include <cstdio>
#include <png.h>
#include <string>
#include <system_error>

#include "barlow/core/error.h"

namespace barlow::data {

void write_png(const std::filesystem::path& path, const Image& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const std::string temporary = path.string() + ".tmp";
  const int written = png_image_write_to_file(
      &header,
      temporary.c_str(),
      /*convert_to_8_bit=*/0,
      image.pixels.data(),
      /*row_stride=*/0,
      /*colormap=*/nullptr);
  if (written == 0) {
    const std::string reason = header.message;
    png_image_free(&header);
    std::remove(temporary.c_str());
    fail(path.string(), ": cannot be written: ", reason);
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) {
    std::remove(temporary.c_str());
    fail(path.string(), ": cannot be written: ", error.message());
  }
}

}  // namespace barlow::data
