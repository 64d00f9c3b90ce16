// SPDX-License-Identifier: MIT
//
// PNG by libpng. It reports errors by a longjmp, over frames that hold plain
// data only: those of PngReader's private functions.

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <new>
#include <png.h>
#include <utility>

#include "data/codecs.h"

namespace barlow::data::detail {
namespace {

constexpr const char* kFormat = "PNG image";

class PngReader {
 public:
  explicit PngReader(const EncodedImage& encoded)
      : encoded_(encoded),
        left_(encoded.bytes),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, stop, ignore)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  PngReader(PngReader&&) = delete;
  PngReader& operator=(PngReader&&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Image read() {
    guarded(&PngReader::read_header);
    const png_uint_32 width = png_get_image_width(png_, info_);
    const png_uint_32 height = png_get_image_height(png_, info_);
    check_size(encoded_, width, height);
    const bool grey = (png_get_color_type(png_, info_) &
                       (PNG_COLOR_MASK_COLOR | PNG_COLOR_MASK_PALETTE)) == 0;
    Image image(
        static_cast<int>(width),
        static_cast<int>(height),
        grey ? 1 : 3);
    image_ = &image;
    guarded(&PngReader::read_pixels);
    return upright(std::move(image), orientation());
  }

 private:
  void guarded(void (PngReader::*step)()) {
    if (setjmp(jump_) == 0) {
      (this->*step)();
      return;
    }
    fail_decoding(encoded_, kFormat, message_.data());
  }

  [[noreturn]] static void stop(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self.message_.data(), self.message_.size(), "%s", message);
    std::longjmp(self.jump_, 1);
  }

  // Warnings are about metadata.
  static void ignore(png_structp, png_const_charp) {}

  static void take(png_structp png, png_bytep out, std::size_t size) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > self.left_.size()) {
      png_error(png, "the file is cut short");
    }
    std::copy_n(self.left_.begin(), size, out);
    self.left_ = self.left_.subspan(size);
  }

  void read_header() {
    png_set_read_fn(png_, this, &PngReader::take);
    png_read_info(png_, info_);
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_palette_to_rgb(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
  }

  void read_pixels() {
    const int passes = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != image_->row_bytes()) {
      png_error(png_, "its samples do not add up to its size");
    }
    for (int pass = 0; pass < passes; ++pass) {
      for (int y = 0; y < image_->height; ++y) {
        png_read_row(png_, image_->row(y), nullptr);
      }
    }
    png_read_end(png_, info_);
  }

  [[nodiscard]] int orientation() const {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(png_, info_, &size, &exif) == 0) {
      return 1;
    }
    return exif_orientation({exif, size});
  }

  const EncodedImage& encoded_;
  std::span<const std::uint8_t> left_;  // not read yet
  png_structp png_;
  png_infop info_;
  std::jmp_buf jump_{};
  std::array<char, 256> message_{};
  Image* image_ = nullptr;
};

}  // namespace

Image decode_png(const EncodedImage& encoded) {
  return PngReader(encoded).read();
}

}  // namespace barlow::data::detail
