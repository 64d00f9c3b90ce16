// SPDX-License-Identifier: MIT
//
// Residual networks as image encoders.
//
// K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image
// Recognition", CVPR 2016, in the variant of torchvision (and of the Barlow
// Twins authors): in bottleneck blocks the 3x3 convolution has the stride.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "barlow/model/layers.h"

namespace barlow::model {

/// What comes before the residual stages.
enum class Stem {
  kImageNet,      ///< 7x7 convolution, stride 2, then 3x3 max-pool, stride 2
  kSmall,         ///< 3x3 convolution, stride 1, no max-pool (CIFAR)
  kSmallStride2,  ///< 3x3 convolution, stride 2, no max-pool
};

struct ResNetOptions {
  /// resnet18, resnet34, resnet50, resnet101 or resnet152.
  std::string architecture = "resnet50";

  Stem stem = Stem::kImageNet;

  /// Residual blocks in each stage, 1 to 4 stages of 1 to 64 blocks; empty: as
  /// many as the architecture has ({2, 2, 2, 2} for resnet18). The names of a
  /// shorter network are those of the full one as far as it goes.
  std::vector<std::int64_t> blocks = {};

  /// Multiplies 64, 128, 256 and 512, the widths of stem and stages; each
  /// product is rounded to the nearest integer, halves up, and is at least 1.
  /// In [1/64, 64].
  double width_factor = 1;

  /// Channels of the images: 1 (grey) or 3.
  std::int64_t in_channels = 3;

  /// The scale of each block's last batch norm begins at 0 instead of 1, so
  /// that a block begins as the identity (Goyal et al. 2017, section 5.1).
  bool zero_init_residual = false;
};

/// Reads "1-1-1" as {1, 1, 1}, and "" as {}, the architecture's own.
/// Throws UsageError, with the text, unless each part is an integer above 0.
[[nodiscard]] std::vector<std::int64_t> parse_blocks(const std::string& text);

/// Throws UsageError, naming the option, what was found and what was expected.
void validate(const ResNetOptions& options);

class ResidualBlock;

/// A ResNet without its classifier.
///
/// Names, shapes and order of parameters and buffers are torchvision's
/// ("conv1.weight", "layer1.0.downsample.0.weight", ...), "fc" excepted; with
/// equal values the features are torchvision's, to float32 rounding.
///
/// New weights are NaN: call initialize_parameters or load_state.
/// Batch norm is over this process's batch.
/// Thread-compatible; in evaluation mode forward changes nothing.
class ResNetImpl : public torch::nn::Module {
 public:
  /// Throws UsageError as `validate`.
  explicit ResNetImpl(const ResNetOptions& options);

  /// Features: the mean over positions of `feature_map`.
  ///
  ///     images   [n, in_channels, H, W]  float32, any H, W >= 1
  ///     returns  [n, feature_dim()]
  ///
  /// Under autocast the result has the type that the device's pooling returns.
  /// Throws c10::ValueError if images has another shape, or in training mode if
  /// a batch norm meets a single value per channel.
  torch::Tensor forward(const torch::Tensor& images);

  /// What the last stage returns: [n, feature_dim(), ceil(H/s), ceil(W/s)] with
  /// s = 32, 8 and 16 for the three stems and four stages (half for each stage
  /// less). Channels-last if the images or the weights are.
  torch::Tensor feature_map(const torch::Tensor& images);

  /// 512 (18, 34) or 2048 (50, 101, 152) at width_factor 1 and four stages.
  [[nodiscard]] std::int64_t feature_dim() const { return feature_dim_; }

  [[nodiscard]] const ResNetOptions& options() const { return options_; }

  /// Stores the convolutions' weights channels-last, which makes every
  /// activation channels-last too, whatever the images' format. Values, names
  /// and shapes stay.
  void to_channels_last();

 private:
  ResNetOptions options_;
  std::int64_t feature_dim_ = 0;
  Convolution conv1_;
  BatchNorm bn1_;
  std::vector<std::shared_ptr<ResidualBlock>> blocks_;
};
TORCH_MODULE(ResNet);

}  // namespace barlow::model
