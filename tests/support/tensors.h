// SPDX-License-Identifier: MIT
//
// What tests of numbers share: reproducible tensors, errors, central
// differences, oracle files, temporary folders.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <torch/types.h>

#include "barlow/core/named_tensors.h"

namespace barlow::test {

/// Standard normal numbers that depend on (shape, seed) alone. float64.
torch::Tensor normal(
    const std::vector<std::int64_t>& shape,
    std::uint64_t seed);

/// |actual - expected| / |expected| in the Euclidean norm, in float64; the
/// plain norm of the difference where expected is 0.
double relative_error(
    const torch::Tensor& actual,
    const torch::Tensor& expected);

/// The largest |actual - expected|, in float64.
double max_error(const torch::Tensor& actual, const torch::Tensor& expected);

/// Gradient of scalar `f` at `x` (float64) by central differences of `step`.
/// Cost: 2 x.numel() evaluations.
torch::Tensor central_differences(
    const std::function<torch::Tensor(const torch::Tensor&)>& f,
    const torch::Tensor& x,
    double step = 1e-6);

/// Tensors that an oracle script wrote: BARLOW_ORACLE_DIR/`name`.
NamedTensors read_oracle(const std::string& folder, const std::string& name);

/// A new empty folder, removed with its contents at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder(TemporaryFolder&&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace barlow::test
