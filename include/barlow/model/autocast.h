// SPDX-License-Identifier: MIT
//
// Mixed precision for a scope. LibTorch has this for Python only, and its
// functions changed names in 2.4; autocast.cpp alone knows which there are.

#pragma once

#include <torch/types.h>

namespace barlow::model {

/// While it lives, convolutions and matrix products of tensors on a device type
/// compute in a lower precision on this thread; parameters keep their type.
/// The destructor restores what was before, and the outermost scope drops the
/// cached lower-precision copies of weights, so that an optimiser's step is
/// seen by the next scope.
///
///     {
///       AutocastScope autocast(torch::kCPU, torch::kBFloat16);
///       std::tie(z_a, z_b) = twins->forward(view_a, view_b);
///     }
///     loss.backward();  // outside: each backward follows its forward's types
///
/// Weights are converted once a scope, and the copy remembers whether gradients
/// were wanted: do not mix passes with and without gradients in one scope.
/// Not to be shared between threads; scopes may nest.
class AutocastScope {
 public:
  /// Types: bfloat16 on the CPU, bfloat16 or float16 on CUDA.
  /// Throws c10::ValueError on another device or type.
  AutocastScope(torch::DeviceType device, torch::Dtype dtype);
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;
  AutocastScope(AutocastScope&&) = delete;
  AutocastScope& operator=(AutocastScope&&) = delete;
  ~AutocastScope();

 private:
  torch::DeviceType device_;
  bool was_enabled_;
  torch::Dtype previous_dtype_;
};

}  // namespace barlow::model
