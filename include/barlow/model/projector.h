// SPDX-License-Identifier: MIT
//
// The projector: the network between the features and the loss (Zbontar et al.
// 2021, section 2.2).

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "barlow/model/layers.h"

namespace barlow::model {

/// Reads the authors' notation: "8192-8192-8192" is {8192, 8192, 8192}, the
/// output sizes of the layers; the last is the embedding size D.
/// Throws UsageError, with the text and the part that is wrong, unless each
/// part is a decimal integer in [1, 2^20] and there are 1 to 64.
[[nodiscard]] std::vector<std::int64_t> parse_projector(
    const std::string& text);

/// Linear, batch norm, ReLU for each size but the last; then Linear. No biases.
///
///     features  [n, in_features]
///     returns   [n, sizes.back()], under autocast in the lower precision
///
/// Parameters are named as in the authors' torch.nn.Sequential: "0.weight",
/// "1.weight", "1.bias", "3.weight", ...
/// New weights are NaN: call initialize_parameters or load_state.
/// Thread-compatible.
class ProjectorImpl : public torch::nn::Module {
 public:
  /// Throws c10::ValueError if `sizes` is empty or a size is below 1.
  ProjectorImpl(
      std::int64_t in_features,
      const std::vector<std::int64_t>& sizes);

  /// Throws c10::ValueError if features has another shape, or, in training mode
  /// with a hidden layer, n < 2.
  torch::Tensor forward(const torch::Tensor& features);

  /// D, the size of an embedding.
  [[nodiscard]] std::int64_t embedding_dim() const { return embedding_dim_; }

 private:
  std::vector<Linear> linears_;
  std::vector<BatchNorm> norms_;  // one less than linears_
  std::int64_t in_features_;
  std::int64_t embedding_dim_ = 0;
};
TORCH_MODULE(Projector);

}  // namespace barlow::model
