// SPDX-License-Identifier: MIT

#include "barlow/model/layers.h"

#include <limits>
#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>

#include "model/synchronized_batch_norm.h"

namespace barlow::model {
namespace {

torch::Tensor unset(const std::vector<std::int64_t>& shape) {
  return torch::full(shape, std::numeric_limits<float>::quiet_NaN());
}

}  // namespace

ConvolutionImpl::ConvolutionImpl(const ConvolutionOptions& options)
    : options_(options) {
  TORCH_CHECK_VALUE(
      options.in_channels >= 1 && options.out_channels >= 1 &&
          options.kernel_size % 2 == 1 && options.kernel_size >= 1 &&
          options.stride >= 1,
      "Convolution: channels and stride must be at least 1, the kernel odd; "
      "got ",
      options.in_channels,
      " -> ",
      options.out_channels,
      ", stride ",
      options.stride,
      ", kernel ",
      options.kernel_size);
  weight = register_parameter(
      "weight",
      unset(
          {options.out_channels,
           options.in_channels,
           options.kernel_size,
           options.kernel_size}));
}

torch::Tensor ConvolutionImpl::forward(const torch::Tensor& x) {
  const std::int64_t padding = options_.kernel_size / 2;
  if (x.size(0) == 0) {
    // A rank without rows: LibTorch's convolutions fail on empty tensors that
    // are channels-last.
    return at::conv2d(
        x.contiguous(),
        weight.contiguous(),
        {},
        options_.stride,
        padding);
  }
  return at::conv2d(x, weight, {}, options_.stride, padding);
}

BatchNormImpl::BatchNormImpl(const BatchNormOptions& options)
    : options_(options) {
  TORCH_CHECK_VALUE(
      options.features >= 1 && options.epsilon > 0,
      "BatchNorm: features must be at least 1 and epsilon above 0, got ",
      options.features,
      " and ",
      options.epsilon);
  weight = register_parameter(
      "weight",
      torch::full({options.features}, options.initial_weight));
  bias = register_parameter("bias", torch::zeros({options.features}));
  running_mean =
      register_buffer("running_mean", torch::zeros({options.features}));
  running_var = register_buffer("running_var", torch::ones({options.features}));
  num_batches_tracked =
      register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
}

torch::Tensor BatchNormImpl::forward(const torch::Tensor& x) {
  TORCH_CHECK_VALUE(
      (x.dim() == 2 || x.dim() == 4) && x.size(1) == options_.features,
      "BatchNorm: x must be [n, ",
      options_.features,
      "] or [n, ",
      options_.features,
      ", H, W], got ",
      x.sizes());
  const bool keeps = is_training() && running_ == RunningStatistics::kKeep;
  if (is_training() && running_ == RunningStatistics::kUpdate) {
    num_batches_tracked.add_(1);
  }
  if (is_training() && group_.size() > 1) {
    return detail::synchronized_batch_norm(
        x,
        {weight,
         bias,
         keeps ? torch::Tensor() : running_mean,
         keeps ? torch::Tensor() : running_var,
         momentum_of_pass(),
         options_.epsilon},
        group_);
  }
  if (is_training()) {
    TORCH_CHECK_VALUE(
        x.numel() > options_.features,
        "BatchNorm: training needs more than one value per channel, got ",
        x.sizes());
  }
  return at::batch_norm(
      x,
      weight,
      bias,
      keeps ? torch::Tensor() : running_mean,
      keeps ? torch::Tensor() : running_var,
      is_training(),
      momentum_of_pass(),
      options_.epsilon,
      at::globalContext().userEnabledCuDNN());
}

double BatchNormImpl::momentum_of_pass() const {
  return running_ == RunningStatistics::kReplace ? 1.0 : options_.momentum;
}

std::vector<BatchNormImpl*> batch_norms(torch::nn::Module& module) {
  std::vector<BatchNormImpl*> norms;
  for (const auto& part : module.modules(/*include_self=*/true)) {
    if (auto* norm = dynamic_cast<BatchNormImpl*>(part.get())) {
      norms.push_back(norm);
    }
  }
  return norms;
}

void synchronize_batch_norm(
    torch::nn::Module& module,
    const dist::ProcessGroup& group) {
  for (BatchNormImpl* norm : batch_norms(module)) {
    norm->synchronize(group);
  }
}

void BatchNormImpl::to(
    torch::Device device,
    torch::Dtype dtype,
    bool non_blocking) {
  const torch::Tensor count = num_batches_tracked.clone();
  Module::to(device, dtype, non_blocking);
  num_batches_tracked.set_data(count.to(device));
}

void BatchNormImpl::to(torch::Dtype dtype, bool non_blocking) {
  const torch::Tensor count = num_batches_tracked.clone();
  Module::to(dtype, non_blocking);
  num_batches_tracked.set_data(count);
}

LinearImpl::LinearImpl(
    std::int64_t in_features,
    std::int64_t out_features,
    Bias with) {
  TORCH_CHECK_VALUE(
      in_features >= 1 && out_features >= 1,
      "Linear: sizes must be at least 1, got ",
      in_features,
      " -> ",
      out_features);
  weight = register_parameter("weight", unset({out_features, in_features}));
  if (with == Bias::kLearned) {
    bias = register_parameter("bias", unset({out_features}));
  }
}

torch::Tensor LinearImpl::forward(const torch::Tensor& x) {
  return at::linear(x, weight, bias);
}

}  // namespace barlow::model
