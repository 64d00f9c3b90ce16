// SPDX-License-Identifier: MIT

#include "data/image_block.h"

#include <cstddef>
#include <memory>

namespace barlow::data::detail {

ImageBlock::ImageBlock(const BlockShape& shape, MemoryFormat format)
    : tensor_(torch::empty(
          {shape.images, shape.channels, shape.side, shape.side},
          torch::TensorOptions(torch::kFloat32),
          format == MemoryFormat::kChannelsLast
              ? c10::MemoryFormat::ChannelsLast
              : c10::MemoryFormat::Contiguous)),
      data_(tensor_.data_ptr<float>()),
      samples_per_image_(shape.channels * shape.side * shape.side),
      interleaved_(
          format == MemoryFormat::kChannelsLast && shape.channels > 1) {}

void ImageBlock::store(
    std::int64_t row,
    const Image& image,
    const Normalization& normalization) const {
  float* out = data_ + row * samples_per_image_;
  if (!interleaved_) {
    normalize_into(image, normalization, out);
    return;
  }
  const auto samples = static_cast<std::size_t>(samples_per_image_);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t pixels = samples / channels;
  const auto planes = std::make_unique_for_overwrite<float[]>(samples);
  normalize_into(image, normalization, planes.get());
  for (std::size_t c = 0; c < channels; ++c) {
    const float* plane = planes.get() + c * pixels;
    for (std::size_t i = 0; i < pixels; ++i) {
      out[i * channels + c] = plane[i];
    }
  }
}

}  // namespace barlow::data::detail
