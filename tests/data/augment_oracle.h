// SPDX-License-Identifier: MIT
//
// Pictures and results of the Python stack (tests/oracle/augment.py).

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "barlow/data/image.h"
#include "support/tensors.h"

namespace barlow::data {

class AugmentOracle {
 public:
  AugmentOracle()
      : tensors_(test::read_oracle(BARLOW_ORACLE_DIR, "augment.safetensors")) {}

  [[nodiscard]] const torch::Tensor& tensor(const std::string& name) const {
    return tensors_.at(name);
  }

  [[nodiscard]] torch::Tensor tensor(const std::string& name, int p, int k)
      const {
    return tensors_.at(
        name + "." + std::to_string(p) + "." + std::to_string(k));
  }

  [[nodiscard]] int picture_count() const {
    return static_cast<int>(tensor("pictures").item<std::int64_t>());
  }

  [[nodiscard]] Image picture(int p) const {
    const torch::Tensor pixels = tensor("picture." + std::to_string(p));
    Image image(
        static_cast<int>(pixels.size(1)),
        static_cast<int>(pixels.size(0)),
        static_cast<int>(pixels.size(2)));
    std::copy_n(
        pixels.data_ptr<std::uint8_t>(),
        image.pixels.size(),
        image.pixels.begin());
    return image;
  }

  [[nodiscard]] std::vector<double> values(const std::string& operation) const {
    const torch::Tensor numbers = tensor(operation + ".values");
    const double* first = numbers.data_ptr<double>();
    return {first, first + numbers.numel()};
  }

 private:
  NamedTensors tensors_;
};

/// The difference of samples, in levels of 255.
struct SampleDifference {
  double mean = 0;
  int largest = 0;
};

inline SampleDifference difference(const Image& a, const torch::Tensor& b) {
  SampleDifference result;
  const auto* expected = b.data_ptr<std::uint8_t>();
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const int distance = std::abs(int{a.pixels[i]} - int{expected[i]});
    result.mean += distance;
    result.largest = std::max(result.largest, distance);
  }
  result.mean /= static_cast<double>(a.pixels.size());
  return result;
}

/// Every operation is integer arithmetic or rounds each float step as Pillow
/// does, so the stated maximum is 0: the same bytes.
inline void expect_same(
    const Image& actual,
    const torch::Tensor& expected,
    const std::string& what) {
  const std::vector<std::int64_t> shape{
      actual.height,
      actual.width,
      actual.channels};
  ASSERT_EQ(expected.sizes().vec(), shape) << what;
  const SampleDifference found = difference(actual, expected);
  EXPECT_EQ(found.largest, 0) << what << ": mean difference " << found.mean
                              << ", largest " << found.largest;
}

}  // namespace barlow::data
