// SPDX-License-Identifier: MIT

#include "barlow/model/twins.h"

namespace barlow::model {

BarlowTwinsImpl::BarlowTwinsImpl(
    const ResNetOptions& backbone,
    const std::vector<std::int64_t>& projector_sizes)
    : torch::nn::Module("BarlowTwins"),
      backbone_(register_module("backbone", ResNet(backbone))),
      projector_(register_module(
          "projector",
          Projector(backbone_->feature_dim(), projector_sizes))) {}

torch::Tensor BarlowTwinsImpl::embed(const torch::Tensor& images) {
  return projector_->forward(backbone_->forward(images));
}

std::pair<torch::Tensor, torch::Tensor> BarlowTwinsImpl::forward(
    const torch::Tensor& view_a,
    const torch::Tensor& view_b) {
  torch::Tensor z_a = embed(view_a);
  torch::Tensor z_b = embed(view_b);
  return {z_a, z_b};
}

}  // namespace barlow::model
