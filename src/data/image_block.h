// SPDX-License-Identifier: MIT
//
// The tensor of a batch while its images are being made.

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "barlow/data/augment.h"
#include "barlow/data/image.h"
#include "barlow/data/memory_format.h"

namespace barlow::data::detail {

struct BlockShape {
  std::int64_t images = 0;  ///< n
  std::int64_t channels = 1;
  std::int64_t side = 1;  ///< px
};

/// Room for n square images of one size.
class ImageBlock {
 public:
  ImageBlock(const BlockShape& shape, MemoryFormat format);

  /// Writes image number `row`, of the block's side and channels. Thread-safe
  /// for different rows.
  void store(
      std::int64_t row,
      const Image& image,
      const Normalization& normalization) const;

  /// [n, channels, side, side], float32.
  [[nodiscard]] const torch::Tensor& tensor() const { return tensor_; }

 private:
  torch::Tensor tensor_;
  float* data_;
  std::int64_t samples_per_image_;
  bool interleaved_;  // pixel by pixel, of more than one channel
};

}  // namespace barlow::data::detail
