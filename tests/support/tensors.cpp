// SPDX-License-Identifier: MIT

#include "support/tensors.h"

#include <cstdlib>
#include <stdexcept>

#include "barlow/core/random.h"
#include "barlow/state/safetensors.h"

namespace barlow::test {

torch::Tensor normal(
    const std::vector<std::int64_t>& shape,
    std::uint64_t seed) {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat64);
  RandomStream stream({.seed = seed, .purpose = StreamPurpose::kTest});
  auto* values = tensor.data_ptr<double>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    values[i] = stream.normal();
  }
  return tensor;
}

double relative_error(
    const torch::Tensor& actual,
    const torch::Tensor& expected) {
  const torch::Tensor reference = expected.detach().to(torch::kFloat64);
  const torch::Tensor difference =
      actual.detach().to(torch::kFloat64) - reference;
  const double scale = reference.norm().item<double>();
  return difference.norm().item<double>() / (scale > 0 ? scale : 1.0);
}

double max_error(const torch::Tensor& actual, const torch::Tensor& expected) {
  return (actual.detach().to(torch::kFloat64) -
          expected.detach().to(torch::kFloat64))
      .abs()
      .max()
      .item<double>();
}

torch::Tensor central_differences(
    const std::function<torch::Tensor(const torch::Tensor&)>& f,
    const torch::Tensor& x,
    double step) {
  torch::NoGradGuard no_grad;
  torch::Tensor point = x.detach().clone().contiguous();
  torch::Tensor gradient = torch::empty_like(point);
  auto* values = point.data_ptr<double>();
  auto* slopes = gradient.data_ptr<double>();
  for (std::int64_t i = 0; i < point.numel(); ++i) {
    const double value = values[i];
    values[i] = value + step;
    const double above = f(point).item<double>();
    values[i] = value - step;
    const double below = f(point).item<double>();
    values[i] = value;
    slopes[i] = (above - below) / (2 * step);
  }
  return gradient;
}

NamedTensors read_oracle(const std::string& folder, const std::string& name) {
  return state::read_safetensors(std::filesystem::path(folder) / name).tensors;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "barlow-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot create " + pattern);
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace barlow::test
