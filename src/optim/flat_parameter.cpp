// SPDX-License-Identifier: MIT

#include "optim/flat_parameter.h"

#include <algorithm>

namespace barlow::optim {
namespace {

bool is_float_on_cpu(const torch::Tensor& x) {
  return x.layout() == torch::kStrided && x.device().is_cpu() &&
         x.scalar_type() == torch::kFloat32;
}

// Strides of dimensions of size 1 mean nothing, and a convolution of 1 x 1 has
// all kinds of them.
bool same_order(const torch::Tensor& x, const torch::Tensor& y) {
  for (std::int64_t d = 0; d < x.dim(); ++d) {
    if (x.size(d) != 1 && x.stride(d) != y.stride(d)) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<FlatParameter> flatten(
    const torch::Tensor& parameter,
    const torch::Tensor& gradient,
    const std::vector<torch::Tensor>& state) {
  if (!is_float_on_cpu(parameter) ||
      !parameter.is_non_overlapping_and_dense() || !is_float_on_cpu(gradient) ||
      gradient.sizes() != parameter.sizes()) {
    return std::nullopt;
  }
  FlatParameter flat;
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!is_float_on_cpu(state[i]) || !same_order(parameter, state[i])) {
      return std::nullopt;
    }
    flat.state.at(i) = state[i].data_ptr<float>();
  }
  flat.size = parameter.numel();
  flat.values = parameter.data_ptr<float>();
  flat.gradient_owner = same_order(parameter, gradient)
                            ? gradient
                            : torch::empty_like(parameter).copy_(gradient);
  flat.gradient = flat.gradient_owner.data_ptr<float>();
  return flat;
}

std::vector<Chunk> cut(const std::vector<FlatParameter>& parameters) {
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t size = parameters[i].size;
    for (std::int64_t begin = 0; begin < size; begin += kChunkSize) {
      chunks.push_back({i, begin, std::min(kChunkSize, size - begin)});
    }
  }
  return chunks;
}

}  // namespace barlow::optim
