// SPDX-License-Identifier: MIT
//
// The share of images whose class is found.

#pragma once

#include <cstdint>
#include <optional>

#include <torch/types.h>

namespace barlow::eval {

/// Fractions in [0, 1].
struct Accuracy {
  double top1 = 0.0;           ///< the label has the highest score
  std::optional<double> top5;  ///< among the five highest; more than 5 classes
};

/// The number of classes that rank before each row's label. Of equal scores the
/// lower class comes first, so the result has no chance in it.
///
///     scores    [n, C]  float32 or float64, CPU
///     labels    [n]     int64, >= 0; a label >= C, a class that the scores do
///                       not know, has rank C
///     returns   [n]     int64, in [0, C]; 0 is a hit
[[nodiscard]] torch::Tensor label_ranks(
    const torch::Tensor& scores,
    const torch::Tensor& labels);

/// Summary of `label_ranks` over a set of at least one image.
[[nodiscard]] Accuracy accuracy_of_ranks(
    const torch::Tensor& ranks,
    std::int64_t classes);

}  // namespace barlow::eval
