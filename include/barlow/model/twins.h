// SPDX-License-Identifier: MIT
//
// The network that is trained: an encoder and a projector, shared by two views
// (Zbontar et al. 2021, figure 1).

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "barlow/model/projector.h"
#include "barlow/model/resnet.h"

namespace barlow::model {

/// Parameters and buffers are named "backbone." + the encoder's names (without
/// the authors' unused "fc") and "projector." + the projector's, in that order.
/// New weights are NaN: call initialize_parameters or load_state.
/// Thread-compatible.
class BarlowTwinsImpl : public torch::nn::Module {
 public:
  /// `projector_sizes` as `parse_projector` returns them.
  /// Throws UsageError as `validate(ResNetOptions)`, c10::ValueError as
  /// Projector.
  BarlowTwinsImpl(
      const ResNetOptions& backbone,
      const std::vector<std::int64_t>& projector_sizes);

  /// The projector's output on the encoder's features, not normalised.
  ///
  ///     images   [n, in_channels, H, W]
  ///     returns  [n, embedding_dim()]
  torch::Tensor embed(const torch::Tensor& images);

  /// (embed(view_a), embed(view_b)), each in a pass of its own, a first: batch
  /// statistics are those of one view, and the running statistics of batch norm
  /// move twice, as in the authors' code. One pass over both would normalise
  /// them together, which is another network.
  std::pair<torch::Tensor, torch::Tensor> forward(
      const torch::Tensor& view_a,
      const torch::Tensor& view_b);

  /// Handles that share the parameters.
  [[nodiscard]] ResNet backbone() const { return backbone_; }
  [[nodiscard]] Projector projector() const { return projector_; }

  [[nodiscard]] std::int64_t embedding_dim() const {
    return projector_->embedding_dim();
  }

  /// As ResNetImpl::to_channels_last.
  void to_channels_last() { backbone_->to_channels_last(); }

 private:
  ResNet backbone_;
  Projector projector_;
};
TORCH_MODULE(BarlowTwins);

}  // namespace barlow::model
