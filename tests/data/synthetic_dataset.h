// SPDX-License-Identifier: MIT
//
// A data set of made-up pictures that records how it is used.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "barlow/core/error.h"
#include "barlow/core/random.h"
#include "barlow/data/dataset.h"

namespace barlow::test {

struct SyntheticOptions {
  std::int64_t size = 10;
  int channels = 3;
  int width = 20;  ///< px of image 0; image i is i % 3 wider
  std::vector<std::int64_t> broken{};  ///< images whose load throws
  bool labelled = true;
};

/// Image i: noise of (i) alone; its label is i % 3.
class SyntheticDataset final : public data::Dataset {
 public:
  explicit SyntheticDataset(SyntheticOptions options)
      : options_(std::move(options)) {
    if (options_.labelled) {
      names_ = {"zero", "one", "two"};
    }
  }

  [[nodiscard]] std::int64_t size() const override { return options_.size; }

  [[nodiscard]] data::Image load(std::int64_t index) const override {
    ++loads_;
    if (std::count(options_.broken.begin(), options_.broken.end(), index) > 0) {
      fail<Error>(describe(index), ": broken");
    }
    const int width = options_.width + static_cast<int>(index % 3);
    data::Image image(width, options_.width, options_.channels);
    RandomStream stream({.image = static_cast<std::uint64_t>(index)});
    for (std::uint8_t& sample : image.pixels) {
      sample = static_cast<std::uint8_t>(stream.next_u32());
    }
    return image;
  }

  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return options_.labelled ? index % 3 : -1;
  }

  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return names_;
  }

  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return "synthetic image " + std::to_string(index);
  }

  /// Calls of `load` so far.
  [[nodiscard]] std::int64_t loads() const { return loads_; }

 private:
  SyntheticOptions options_;
  std::vector<std::string> names_;
  mutable std::atomic<std::int64_t> loads_{0};
};

/// Same shape and same bits.
inline bool same_bytes(const torch::Tensor& a, const torch::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.equal(b);
}

/// The message of the Error that `call` throws; nothing if it throws none.
template <class Call>
std::optional<std::string> error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace barlow::test
