// SPDX-License-Identifier: MIT

#include "barlow/model/projector.h"

#include <charconv>
#include <string_view>

#include "barlow/core/error.h"

namespace barlow::model {
namespace {

// A weight of 2^20 x 2^20 would need 4 TiB: whatever is above is a slip.
constexpr std::int64_t kMaxSize = 1 << 20;
constexpr std::size_t kMaxLayers = 64;

std::int64_t parse_size(std::string_view part, const std::string& text) {
  std::int64_t size = 0;
  const char* end = part.data() + part.size();
  const auto [stop, error] = std::from_chars(part.data(), end, size);
  if (error != std::errc{} || stop != end || size < 1 || size > kMaxSize) {
    fail<UsageError>(
        "projector '",
        text,
        "': found '",
        part,
        "', expected integers in [1, ",
        kMaxSize,
        "] joined by '-', such as 8192-8192-8192");
  }
  return size;
}

}  // namespace

std::vector<std::int64_t> parse_projector(const std::string& text) {
  std::vector<std::int64_t> sizes;
  std::string_view rest = text;
  while (true) {
    const std::size_t dash = rest.find('-');
    sizes.push_back(parse_size(rest.substr(0, dash), text));
    if (dash == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(dash + 1);
  }
  if (sizes.size() > kMaxLayers) {
    fail<UsageError>(
        "projector '",
        text,
        "': found ",
        sizes.size(),
        " layers, expected at most ",
        kMaxLayers);
  }
  return sizes;
}

ProjectorImpl::ProjectorImpl(
    std::int64_t in_features,
    const std::vector<std::int64_t>& sizes)
    : torch::nn::Module("Projector"), in_features_(in_features) {
  TORCH_CHECK_VALUE(!sizes.empty(), "Projector: sizes must not be empty");
  // In the authors' Sequential the ReLU has an index too, but no parameters.
  constexpr std::size_t kStep = 3;
  std::int64_t width = in_features;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    linears_.push_back(register_module(
        std::to_string(kStep * i),
        Linear(width, sizes[i], Bias::kNone)));
    width = sizes[i];
    if (i + 1 < sizes.size()) {
      norms_.push_back(register_module(
          std::to_string(kStep * i + 1),
          BatchNorm(BatchNormOptions{.features = width})));
    }
  }
  embedding_dim_ = width;
}

torch::Tensor ProjectorImpl::forward(const torch::Tensor& features) {
  TORCH_CHECK_VALUE(
      features.dim() == 2 && features.size(1) == in_features_,
      "Projector: features must be [n, ",
      in_features_,
      "], got ",
      features.sizes());
  torch::Tensor x = linears_.front()->forward(features);
  for (std::size_t i = 0; i < norms_.size(); ++i) {
    x = norms_[i]->forward(x).relu_();
    x = linears_[i + 1]->forward(x);
  }
  return x;
}

}  // namespace barlow::model
