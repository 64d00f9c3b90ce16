// SPDX-License-Identifier: MIT
//
// JPEG by libjpeg-turbo, with its defaults (accurate integer transform, smooth
// upsampling), which are also Pillow's.
//
// The library reports errors by a longjmp. It jumps over frames that hold plain
// data only: those of JpegReader's private functions.

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <utility>
#include <vector>

// After <cstdio>, whose types jpeglib.h uses; jconfig.h says which warnings
// jerror.h has.
#include <jconfig.h>
#include <jerror.h>
#include <jpeglib.h>

#include "data/codecs.h"

namespace barlow::data::detail {
namespace {

constexpr const char* kFormat = "JPEG image";

// Real progressive files have about 10 scans; each one costs a pass over all
// coefficients, so a small file could ask for hours.
constexpr int kMaxScans = 500;

class JpegReader {
 public:
  explicit JpegReader(const EncodedImage& encoded) : encoded_(encoded) {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = [](j_common_ptr jpeg) {
      of(jpeg).give_up(jpeg);
    };
    errors_.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0 && loses_pixels(jpeg->err->msg_code)) {
        of(jpeg).give_up(jpeg);
      }
    };
    progress_.progress_monitor = [](j_common_ptr jpeg) {
      JpegReader& self = of(jpeg);
      if (self.jpeg_.input_scan_number > kMaxScans) {
        std::snprintf(
            self.message_.data(),
            self.message_.size(),
            "more than %d scans",
            kMaxScans);
        std::longjmp(self.jump_, 1);
      }
    };
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  JpegReader(JpegReader&&) = delete;
  JpegReader& operator=(JpegReader&&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }

  Image read() {
    guarded(&JpegReader::read_header);
    check_size(encoded_, jpeg_.image_width, jpeg_.image_height);
    Image image(
        static_cast<int>(jpeg_.image_width),
        static_cast<int>(jpeg_.image_height),
        jpeg_.num_components == 1 ? 1 : 3);
    if (jpeg_.num_components == 4) {
      inks_.resize(std::size_t{4} * jpeg_.image_width);
    }
    image_ = &image;
    // Reading the pixels to the end frees the markers.
    const int turned = orientation();
    guarded(&JpegReader::read_pixels);
    return upright(std::move(image), turned);
  }

 private:
  static JpegReader& of(j_common_ptr jpeg) {
    return *static_cast<JpegReader*>(jpeg->client_data);
  }

  // What is left are oddities of markers: bytes between segments, versions.
  static bool loses_pixels(int warning) {
    return warning == JWRN_HIT_MARKER || warning == JWRN_HUFF_BAD_CODE ||
           warning == JWRN_JPEG_EOF || warning == JWRN_MUST_RESYNC ||
           warning == JWRN_ARITH_BAD_CODE;
  }

  [[noreturn]] void give_up(j_common_ptr jpeg) {
    errors_.format_message(jpeg, message_.data());
    std::longjmp(jump_, 1);
  }

  void guarded(void (JpegReader::*step)()) {
    if (setjmp(jump_) == 0) {
      (this->*step)();
      return;
    }
    fail_decoding(encoded_, kFormat, message_.data());
  }

  void read_header() {
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    jpeg_mem_src(&jpeg_, encoded_.bytes.data(), encoded_.bytes.size());
    jpeg_save_markers(&jpeg_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_read_header(&jpeg_, TRUE);
    // An RGB or CMYK output is refused by the library where it makes no sense.
    jpeg_.out_color_space = jpeg_.num_components == 1   ? JCS_GRAYSCALE
                            : jpeg_.num_components == 4 ? JCS_CMYK
                                                        : JCS_RGB;
  }

  void read_pixels() {
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      std::uint8_t* out = image_->row(static_cast<int>(jpeg_.output_scanline));
      JSAMPROW row = inks_.empty() ? out : inks_.data();
      jpeg_read_scanlines(&jpeg_, &row, 1);
      if (!inks_.empty()) {
        rgb_from_inks(out);
      }
    }
    jpeg_finish_decompress(&jpeg_);
  }

  // Files hold 255 - ink. Light is what black leaves, less the ink's share.
  void rgb_from_inks(std::uint8_t* rgb) const {
    for (std::size_t i = 0; i < inks_.size(); i += 4, rgb += 3) {
      const std::uint32_t light = inks_[i + 3];
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t product = (255U - inks_[i + c]) * light + 128U;
        const std::uint32_t taken = ((product >> 8U) + product) >> 8U;
        rgb[c] = static_cast<std::uint8_t>(light - taken);
      }
    }
  }

  [[nodiscard]] int orientation() const {
    constexpr std::array<std::uint8_t, 5> kExif{'E', 'x', 'i', 'f', 0};
    for (const auto* m = jpeg_.marker_list; m != nullptr; m = m->next) {
      const std::span<const std::uint8_t> data(m->data, m->data_length);
      if (data.size() > kExif.size() &&
          std::equal(kExif.begin(), kExif.end(), data.begin())) {
        return exif_orientation(data);
      }
    }
    return 1;
  }

  const EncodedImage& encoded_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  std::array<char, JMSG_LENGTH_MAX> message_{};
  std::vector<std::uint8_t> inks_;  // one row of CMYK samples
  Image* image_ = nullptr;
};

}  // namespace

Image decode_jpeg(const EncodedImage& encoded) {
  return JpegReader(encoded).read();
}

}  // namespace barlow::data::detail
