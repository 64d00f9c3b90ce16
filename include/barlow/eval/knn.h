// SPDX-License-Identifier: MIT
//
// Weighted nearest neighbours on frozen features.
//
// Z. Wu, Y. Xiong, S. X. Yu, D. Lin, "Unsupervised Feature Learning via
// Non-Parametric Instance Discrimination", CVPR 2018, section 3.4,
// https://arxiv.org/abs/1805.01978. It has nothing to train and no choice to
// make on labels, so it measures the features alone.

#pragma once

#include <cstdint>

#include <torch/types.h>

#include "barlow/eval/accuracy.h"
#include "barlow/eval/features.h"

namespace barlow::eval {

struct KnnOptions {
  std::int64_t k = 200;       ///< neighbours, in [1, N]; the paper's value
  double temperature = 0.07;  ///< T, > 0; the paper's value
  /// Bound on working memory besides the inputs and the result, >= 1. A small
  /// one costs time, never accuracy; at least one row is always held.
  std::int64_t max_block_bytes = std::int64_t{256} << 20;
};

struct KnnResult {
  torch::Tensor predictions;  ///< [Q] int64: the class with most votes
  Accuracy accuracy;
};

/// Classifies Q queries by the k nearest of N labelled bank images:
///
///     s_j        = cosine of the query and bank image j (0 for a zero vector)
///     votes(c)   = sum of exp(s_j / T) over the k largest s_j with label c
///
/// Ties: of equal s_j the lower j is nearer, of equal votes the lower class
/// wins. Classes are those of the bank, C = its largest label + 1.
///
/// Precision. Cosines are float32 products, within 1e-6 of float64 for F up to
/// 4096; votes are float64, taken relative to the nearest neighbour, so that no
/// T overflows. The result depends neither on block size nor on threads, but
/// where two cosines agree to float32 rounding.
///
/// Cost. 2 Q N F FLOP and Q N comparisons: 60000 x 10000 x 784 is 0.94 TFLOP.
///
/// Errors. UsageError if k is not in [1, N]; c10::ValueError if T or the memory
/// bound is out of range or F differs; and as `check_features` and
/// `check_classes`.
[[nodiscard]] KnnResult weighted_knn(
    const Features& bank,
    const Features& queries,
    const KnnOptions& options = {});

}  // namespace barlow::eval
