// SPDX-License-Identifier: MIT
//
// WebP by libwebp; animations by libwebpdemux.

#include <memory>
#include <utility>
#include <webp/decode.h>
#include <webp/demux.h>

#include "data/codecs.h"

namespace barlow::data::detail {
namespace {

constexpr const char* kFormat = "WebP image";

struct Deleter {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
  void operator()(WebPAnimDecoder* decoder) const {
    WebPAnimDecoderDelete(decoder);
  }
};
using Demuxer = std::unique_ptr<WebPDemuxer, Deleter>;
using AnimationDecoder = std::unique_ptr<WebPAnimDecoder, Deleter>;

const char* reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "it is cut short";
    case VP8_STATUS_OUT_OF_MEMORY:
      return "out of memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses an unsupported feature";
    default:
      return "its data is damaged";
  }
}

void read_still(const EncodedImage& encoded, Image& image) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) {
    fail_decoding(encoded, kFormat, "libwebp has another version");
  }
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.pixels.data();
  config.output.u.RGBA.stride = static_cast<int>(image.row_bytes());
  config.output.u.RGBA.size = image.pixels.size();
  const VP8StatusCode status =
      WebPDecode(encoded.bytes.data(), encoded.bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  if (status != VP8_STATUS_OK) {
    fail_decoding(encoded, kFormat, reason(status));
  }
}

// The first frame on the whole canvas, black where it does not reach.
void read_first_frame(const EncodedImage& encoded, Image& image) {
  const WebPData data{encoded.bytes.data(), encoded.bytes.size()};
  const AnimationDecoder decoder(WebPAnimDecoderNew(&data, nullptr));
  std::uint8_t* rgba = nullptr;
  int timestamp_ms = 0;
  if (decoder == nullptr ||
      WebPAnimDecoderGetNext(decoder.get(), &rgba, &timestamp_ms) == 0) {
    fail_decoding(encoded, kFormat, "its first frame is damaged");
  }
  for (std::size_t i = 0; i < image.pixels.size(); i += 3, rgba += 4) {
    image.pixels[i] = rgba[0];
    image.pixels[i + 1] = rgba[1];
    image.pixels[i + 2] = rgba[2];
  }
}

int orientation(const WebPDemuxer* demuxer) {
  WebPChunkIterator chunk{};
  int result = 1;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0) {
    result = exif_orientation({chunk.chunk.bytes, chunk.chunk.size});
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return result;
}

}  // namespace

Image decode_webp(const EncodedImage& encoded) {
  WebPBitstreamFeatures features;
  const VP8StatusCode status =
      WebPGetFeatures(encoded.bytes.data(), encoded.bytes.size(), &features);
  if (status != VP8_STATUS_OK) {
    fail_decoding(encoded, kFormat, reason(status));
  }
  check_size(
      encoded,
      static_cast<std::uint64_t>(features.width),
      static_cast<std::uint64_t>(features.height));
  const WebPData data{encoded.bytes.data(), encoded.bytes.size()};
  const Demuxer demuxer(WebPDemux(&data));
  if (demuxer == nullptr) {
    fail_decoding(encoded, kFormat, "it is cut short or damaged");
  }
  Image image(features.width, features.height, 3);
  if (features.has_animation != 0) {
    read_first_frame(encoded, image);
  } else {
    read_still(encoded, image);
  }
  return upright(std::move(image), orientation(demuxer.get()));
}

}  // namespace barlow::data::detail
