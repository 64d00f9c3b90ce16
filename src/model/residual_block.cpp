// SPDX-License-Identifier: MIT

#include "model/residual_block.h"

#include <memory>

namespace barlow::model {

std::int64_t block_channels(BlockKind kind, std::int64_t width) {
  return kind == BlockKind::kBottleneck ? 4 * width : width;
}

// Registration order is torchvision's: parameter order is part of what a seed
// means, and of optimiser states exchanged with Python.
ResidualBlock::ResidualBlock(const ResidualBlockOptions& options)
    : torch::nn::Module("ResidualBlock") {
  const std::int64_t in = options.in_channels;
  const std::int64_t width = options.width;
  const std::int64_t out = block_channels(options.kind, width);
  const auto add_conv = [&](const char* name, const ConvolutionOptions& o) {
    return register_module(name, Convolution(o));
  };
  const auto add_norm = [&](const char* name, const BatchNormOptions& o) {
    return register_module(name, BatchNorm(o));
  };
  const BatchNormOptions inner{.features = width};
  const BatchNormOptions last{
      .features = out,
      .initial_weight = options.residual_weight};

  if (options.kind == BlockKind::kBasic) {
    conv1_ = add_conv("conv1", {in, width, 3, options.stride});
    bn1_ = add_norm("bn1", inner);
    conv2_ = add_conv("conv2", {width, width, 3});
    bn2_ = add_norm("bn2", last);
  } else {
    conv1_ = add_conv("conv1", {in, width, 1});
    bn1_ = add_norm("bn1", inner);
    conv2_ = add_conv("conv2", {width, width, 3, options.stride});
    bn2_ = add_norm("bn2", inner);
    conv3_ = add_conv("conv3", {width, out, 1});
    bn3_ = add_norm("bn3", last);
  }
  if (options.stride != 1 || in != out) {
    auto downsample = register_module(
        "downsample",
        std::make_shared<torch::nn::Module>("Downsample"));
    projection_ = downsample->register_module(
        "0",
        Convolution(ConvolutionOptions{in, out, 1, options.stride}));
    projection_bn_ = downsample->register_module(
        "1",
        BatchNorm(BatchNormOptions{.features = out}));
  }
}

// In-place ReLU and addition: batch norm keeps its input for the backward pass
// and ReLU its output, so nothing that is needed is overwritten.
torch::Tensor ResidualBlock::forward(const torch::Tensor& x) {
  torch::Tensor y = bn1_->forward(conv1_->forward(x)).relu_();
  y = bn2_->forward(conv2_->forward(y));
  if (conv3_) {
    y = bn3_->forward(conv3_->forward(y.relu_()));
  }
  y.add_(projection_ ? projection_bn_->forward(projection_->forward(x)) : x);
  return y.relu_();
}

}  // namespace barlow::model
