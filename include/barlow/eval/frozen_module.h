// SPDX-License-Identifier: MIT
//
// Evaluation mode, and proof that it was kept.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

namespace barlow::eval {

/// Holds a module in evaluation mode for the length of a scope.
///
/// Batch norm that was left in training mode would fold the test images into
/// its running statistics, and features would depend on the batch:
/// `check_unchanged` finds that, and any other write.
///
/// Cost: reads every parameter and buffer once at the start and at each check
/// (100 MB for a ResNet-50, about 20 ms); those on a GPU are copied, one at a
/// time. Thread-compatible.
class FrozenModule {
 public:
  /// `module` must outlive this object.
  explicit FrozenModule(torch::nn::Module& module);
  explicit FrozenModule(torch::nn::Module&&) = delete;
  FrozenModule(const FrozenModule&) = delete;
  FrozenModule& operator=(const FrozenModule&) = delete;
  FrozenModule(FrozenModule&&) = delete;
  FrozenModule& operator=(FrozenModule&&) = delete;

  /// Gives each submodule the mode that it had.
  ~FrozenModule();

  /// Throws Error, naming the first tensor in order of name, if a parameter or
  /// buffer differs in any bit, shape or type from what it was at construction,
  /// appeared or disappeared; or if a submodule left evaluation mode.
  void check_unchanged() const;

 private:
  torch::nn::Module& module_;
  std::vector<std::pair<torch::nn::Module*, bool>> modes_;  // parents first
  std::map<std::string, std::uint64_t> checksums_;
};

}  // namespace barlow::eval
