// SPDX-License-Identifier: MIT
//
// The two residual blocks of He et al. 2016: two 3x3 convolutions (basic), or
// 1x1, 3x3, 1x1 with four times as many channels at the end (bottleneck).

#pragma once

#include <cstdint>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "barlow/model/layers.h"

namespace barlow::model {

enum class BlockKind { kBasic, kBottleneck };

struct ResidualBlockOptions {
  BlockKind kind = BlockKind::kBasic;
  std::int64_t in_channels = 0;
  std::int64_t width = 0;      // channels of the 3x3 convolutions
  std::int64_t stride = 1;     // of the (first) 3x3 convolution
  double residual_weight = 1;  // initial scale of the last batch norm
};

// Channels that a block of this kind and width returns.
[[nodiscard]] std::int64_t block_channels(BlockKind kind, std::int64_t width);

class ResidualBlock : public torch::nn::Module {
 public:
  explicit ResidualBlock(const ResidualBlockOptions& options);

  torch::Tensor forward(const torch::Tensor& x);

 private:
  Convolution conv1_{nullptr};
  BatchNorm bn1_{nullptr};
  Convolution conv2_{nullptr};
  BatchNorm bn2_{nullptr};
  Convolution conv3_{nullptr};  // bottleneck only
  BatchNorm bn3_{nullptr};
  Convolution projection_{nullptr};  // only where the shape changes
  BatchNorm projection_bn_{nullptr};
};

}  // namespace barlow::model
