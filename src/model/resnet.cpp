// SPDX-License-Identifier: MIT

#include "barlow/model/resnet.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "model/residual_block.h"

namespace barlow::model {
namespace {

constexpr std::size_t kStages = 4;
constexpr double kMinWidthFactor = 1.0 / 64;
constexpr double kMaxWidthFactor = 64;
constexpr std::int64_t kMaxBlocks = 64;

struct Architecture {
  const char* name;
  BlockKind kind;
  std::array<std::int64_t, kStages> blocks;  // per stage
};

// He et al. 2016, table 1.
constexpr std::array<Architecture, 5> kArchitectures{{
    {"resnet18", BlockKind::kBasic, {2, 2, 2, 2}},
    {"resnet34", BlockKind::kBasic, {3, 4, 6, 3}},
    {"resnet50", BlockKind::kBottleneck, {3, 4, 6, 3}},
    {"resnet101", BlockKind::kBottleneck, {3, 4, 23, 3}},
    {"resnet152", BlockKind::kBottleneck, {3, 8, 36, 3}},
}};

const Architecture* find_architecture(const std::string& name) {
  const auto* found = std::find_if(
      kArchitectures.begin(),
      kArchitectures.end(),
      [&](const auto& a) { return name == a.name; });
  return found == kArchitectures.end() ? nullptr : found;
}

[[noreturn]] void fail_architecture(const std::string& name) {
  std::vector<std::string> names;
  for (const Architecture& architecture : kArchitectures) {
    names.emplace_back(architecture.name);
  }
  const std::string nearest = nearest_name(name, names);
  fail<UsageError>(
      "architecture: found '",
      name,
      "', expected one of ",
      join(names),
      nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

std::vector<std::int64_t> blocks_of(const ResNetOptions& options) {
  if (!options.blocks.empty()) {
    return options.blocks;
  }
  const auto& own = find_architecture(options.architecture)->blocks;
  return {own.begin(), own.end()};
}

void validate_blocks(const std::vector<std::int64_t>& blocks) {
  const bool possible =
      blocks.size() <= kStages &&
      std::all_of(blocks.begin(), blocks.end(), [](std::int64_t count) {
        return count >= 1 && count <= kMaxBlocks;
      });
  if (!possible) {
    std::vector<std::string> parts;
    for (const std::int64_t count : blocks) {
      parts.push_back(std::to_string(count));
    }
    fail<UsageError>(
        "blocks: found ",
        join(parts, "-"),
        ", expected 1 to ",
        kStages,
        " stages of 1 to ",
        kMaxBlocks,
        " blocks, such as 1-1-1");
  }
}

std::int64_t stage_width(std::size_t stage, double width_factor) {
  const double width = std::ldexp(64.0 * width_factor, static_cast<int>(stage));
  return std::max<std::int64_t>(1, std::llround(width));
}

// Options are checked before the first member is built from them.
const ResNetOptions& checked(const ResNetOptions& options) {
  validate(options);
  return options;
}

ConvolutionOptions stem_convolution(const ResNetOptions& options) {
  const bool large = options.stem == Stem::kImageNet;
  return {
      .in_channels = options.in_channels,
      .out_channels = stage_width(0, options.width_factor),
      .kernel_size = large ? 7 : 3,
      .stride = options.stem == Stem::kSmall ? 1 : 2};
}

}  // namespace

std::vector<std::int64_t> parse_blocks(const std::string& text) {
  std::vector<std::int64_t> blocks;
  const char* position = text.data();
  const char* end = text.data() + text.size();
  while (position != end) {
    std::int64_t count = 0;
    const auto [after, error] = std::from_chars(position, end, count);
    const bool more = after != end && *after == '-' && after + 1 != end;
    if (error != std::errc() || count < 1 || (after != end && !more)) {
      fail<UsageError>(
          "blocks: found '",
          text,
          "', expected integers such as 1-1-1");
    }
    blocks.push_back(count);
    position = more ? after + 1 : end;
  }
  return blocks;
}

void validate(const ResNetOptions& options) {
  if (find_architecture(options.architecture) == nullptr) {
    fail_architecture(options.architecture);
  }
  validate_blocks(options.blocks);
  // Written so that NaN fails.
  if (!(options.width_factor >= kMinWidthFactor &&
        options.width_factor <= kMaxWidthFactor)) {
    fail<UsageError>(
        "width_factor: found ",
        options.width_factor,
        ", expected a number in [1/64, 64]");
  }
  if (options.in_channels != 1 && options.in_channels != 3) {
    fail<UsageError>(
        "in_channels: found ",
        options.in_channels,
        ", expected 1 (grey) or 3 (colour)");
  }
}

ResNetImpl::ResNetImpl(const ResNetOptions& options)
    : torch::nn::Module("ResNet"),
      options_(checked(options)),
      conv1_(register_module("conv1", Convolution(stem_convolution(options)))),
      bn1_(register_module(
          "bn1",
          BatchNorm(BatchNormOptions{
              .features = stage_width(0, options.width_factor)}))) {
  const BlockKind kind = find_architecture(options.architecture)->kind;
  const std::vector<std::int64_t> blocks = blocks_of(options);
  std::int64_t channels = bn1_->options().features;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t width = stage_width(stage, options.width_factor);
    auto layer = register_module(
        "layer" + std::to_string(stage + 1),
        std::make_shared<torch::nn::Module>("Stage"));
    for (std::int64_t i = 0; i < blocks[stage]; ++i) {
      const ResidualBlockOptions block{
          .kind = kind,
          .in_channels = channels,
          .width = width,
          .stride = i == 0 && stage > 0 ? 2 : 1,
          .residual_weight = options.zero_init_residual ? 0.0 : 1.0};
      blocks_.push_back(layer->register_module(
          std::to_string(i),
          std::make_shared<ResidualBlock>(block)));
      channels = block_channels(kind, width);
    }
  }
  feature_dim_ = channels;
}

torch::Tensor ResNetImpl::feature_map(const torch::Tensor& images) {
  TORCH_CHECK_VALUE(
      images.dim() == 4 && images.size(1) == options_.in_channels,
      "ResNet: images must be [n, ",
      options_.in_channels,
      ", H, W], got ",
      images.sizes());
  torch::Tensor x = bn1_->forward(conv1_->forward(images)).relu_();
  if (options_.stem == Stem::kImageNet) {
    x = at::max_pool2d(x, /*kernel_size=*/3, /*stride=*/2, /*padding=*/1);
  }
  for (const auto& block : blocks_) {
    x = block->forward(x);
  }
  return x;
}

torch::Tensor ResNetImpl::forward(const torch::Tensor& images) {
  return at::adaptive_avg_pool2d(feature_map(images), {1, 1}).flatten(1);
}

void ResNetImpl::to_channels_last() {
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : parameters()) {
    if (parameter.dim() == 4) {
      // Not `contiguous`: it returns a 1x1 or one-channel kernel as it is, with
      // strides from which LibTorch infers the other format.
      torch::Tensor weight = torch::empty(
          parameter.sizes(),
          parameter.options().memory_format(torch::MemoryFormat::ChannelsLast));
      parameter.set_data(weight.copy_(parameter));
    }
  }
}

}  // namespace barlow::model
