// SPDX-License-Identifier: MIT

#pragma once

#include <string>
#include <vector>

#include "barlow/core/random.h"
#include "barlow/data/dataset.h"

namespace barlow::test {

/// Small grey pictures of noise over a gradient, each its own, without labels.
class SyntheticDataset : public data::Dataset {
 public:
  SyntheticDataset(std::int64_t size, std::uint64_t seed)
      : size_(size), seed_(seed) {}

  [[nodiscard]] std::int64_t size() const override { return size_; }

  [[nodiscard]] data::Image load(std::int64_t index) const override {
    constexpr int kSide = 16;
    data::Image image(kSide, kSide, 1);
    RandomStream stream(
        {.seed = seed_, .image = static_cast<std::uint64_t>(index)});
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        image.row(y)[x] = static_cast<std::uint8_t>(
            8 * y + static_cast<int>(stream.integer(128)));
      }
    }
    return image;
  }

  [[nodiscard]] std::int64_t label(std::int64_t /*index*/) const override {
    return -1;
  }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return no_names_;
  }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return "synthetic image " + std::to_string(index);
  }

 private:
  std::int64_t size_;
  std::uint64_t seed_;
  std::vector<std::string> no_names_;
};

}  // namespace barlow::test
