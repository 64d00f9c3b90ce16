// SPDX-License-Identifier: MIT
//
// The three layers with parameters of which the networks are built.
//
// They compute what torch::nn's Conv2d, BatchNorm and Linear compute, under the
// same parameter and buffer names, and differ in two ways: constructing one
// draws nothing from LibTorch's global generator, and one batch norm serves
// [n, C] and [n, C, H, W].
//
// Weights of a new Convolution or Linear are NaN until initialize_parameters
// or load_state has filled them, so that a forgotten initialisation shows in
// the first result. All are float32 on the CPU when new; `to` moves them.
// Thread-compatible: one thread at a time may use a module.

#pragma once

#include <cstdint>
#include <vector>

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include "barlow/dist/process_group.h"

namespace barlow::model {

struct ConvolutionOptions {
  std::int64_t in_channels = 0;   ///< at least 1
  std::int64_t out_channels = 0;  ///< at least 1
  std::int64_t kernel_size = 1;   ///< odd: a square kernel with a middle
  std::int64_t stride = 1;        ///< at least 1
};

/// A convolution without bias, zero-padded by kernel_size / 2.
///
///     x        [n, in_channels, H, W]
///     returns  [n, out_channels, ceil(H / stride), ceil(W / stride)]
///
/// The memory format is kept; channels-last if x or the weight is. Under
/// autocast it computes and returns the lower precision.
class ConvolutionImpl : public torch::nn::Module {
 public:
  explicit ConvolutionImpl(const ConvolutionOptions& options);

  torch::Tensor forward(const torch::Tensor& x);

  torch::Tensor weight;  ///< [out_channels, in_channels, k, k]

 private:
  ConvolutionOptions options_;
};
TORCH_MODULE(Convolution);

struct BatchNormOptions {
  std::int64_t features = 0;  ///< C, at least 1
  double epsilon = 1e-5;      ///< added to the variance, > 0
  double momentum = 0.1;  ///< weight of a new batch in the running statistics
  double initial_weight = 1;  ///< what initialize_parameters sets the scale to
};

/// What a training pass does to the running statistics.
enum class RunningStatistics : std::uint8_t {
  kUpdate,   ///< moves them by `momentum`
  kKeep,     ///< nothing
  kReplace,  ///< overwrites them by the batch's mean and unbiased variance
};

/// Batch normalisation (Ioffe and Szegedy 2015) over all but dimension 1.
///
///     x        [n, C] or [n, C, H, W]  float32, or lower with float32 weights
///     returns  as x, in x's type and memory format
///
/// In training mode it normalises by the batch's biased variance and moves the
/// running statistics (unbiased variance) by `momentum`; in evaluation mode it
/// uses the running statistics and changes nothing. Statistics of bfloat16
/// inputs are accumulated and kept in float32.
///
/// Once `synchronize` has given it a group of more than one rank, the batch is
/// that of all ranks: x is then this rank's rows, n may differ between ranks
/// and be 0, and forward in training mode and its backward pass are collective,
/// of 2 C + 1 and 2 C float64 numbers. Its gradient cannot be differentiated
/// again. Without, at::batch_norm is called. Throws c10::ValueError if x has
/// another shape, or, in training mode, only one value per channel.
class BatchNormImpl : public torch::nn::Module {
 public:
  explicit BatchNormImpl(const BatchNormOptions& options);

  torch::Tensor forward(const torch::Tensor& x);

  /// From the next forward pass on. num_batches_tracked counts with kUpdate.
  void set_running_statistics(RunningStatistics use) { running_ = use; }

  /// The ranks whose rows form the batch, from the next forward pass on.
  void synchronize(const dist::ProcessGroup& group) { group_ = group; }

  [[nodiscard]] const BatchNormOptions& options() const { return options_; }

  /// LibTorch's `to` would make num_batches_tracked a floating-point number
  /// too, which cannot count far; here, as in Python torch, it stays int64.
  using torch::nn::Module::to;
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false)
      override;
  void to(torch::Dtype dtype, bool non_blocking = false) override;

  torch::Tensor weight;               ///< [C], initial_weight when new
  torch::Tensor bias;                 ///< [C], 0 when new
  torch::Tensor running_mean;         ///< [C], 0 when new
  torch::Tensor running_var;          ///< [C], 1 when new
  torch::Tensor num_batches_tracked;  ///< [] int64, training passes so far

 private:
  [[nodiscard]] double momentum_of_pass() const;

  BatchNormOptions options_;
  dist::ProcessGroup group_;
  RunningStatistics running_ = RunningStatistics::kUpdate;
};
TORCH_MODULE(BatchNorm);

/// The batch norms of a module, in the order of its modules.
[[nodiscard]] std::vector<BatchNormImpl*> batch_norms(
    torch::nn::Module& module);

/// Calls `synchronize` of every BatchNorm in `module`.
void synchronize_batch_norm(
    torch::nn::Module& module,
    const dist::ProcessGroup& group);

enum class Bias { kNone, kLearned };

/// y = x W^T + b.
///
///     x        [n, in_features]
///     returns  [n, out_features], under autocast in the lower precision
class LinearImpl : public torch::nn::Module {
 public:
  LinearImpl(std::int64_t in_features, std::int64_t out_features, Bias with);

  torch::Tensor forward(const torch::Tensor& x);

  torch::Tensor weight;  ///< [out_features, in_features]
  torch::Tensor bias;    ///< [out_features], undefined with Bias::kNone
};
TORCH_MODULE(Linear);

}  // namespace barlow::model
