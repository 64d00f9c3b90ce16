// SPDX-License-Identifier: MIT
//
// The arithmetic of a step on contiguous float32 numbers, each in one pass over
// memory. Pure functions of their arguments: the same bits on every processor.

#pragma once

#include <cstdint>

namespace barlow::optim {

struct SquaredNorms {
  double parameter = 0;  ///< sum of p^2
  double gradient = 0;   ///< sum of (g + decay p)^2
};

/// Float32 products, added in float32 in blocks of 512, 8 in sequence and 64
/// pairwise, and in float64 between blocks: within 14 x 2^-24 of the exact sum.
/// As in LibTorch, a square beyond float32's range is infinity.
[[nodiscard]] SquaredNorms
squared_norms(const float* p, const float* g, float decay, std::int64_t n);

struct MomentumFactors {
  float decay = 0;
  float scale = 1;
  float momentum = 0;
  float rate = 0;
};

/// m <- momentum m + scale (g + decay p),  p <- p - rate m
void momentum_step(
    float* p,
    const float* g,
    float* m,
    std::int64_t n,
    const MomentumFactors& factors);

/// u = scale (g + decay p),  m <- momentum m + u,
/// p <- p - rate (u + momentum m)
void nesterov_step(
    float* p,
    const float* g,
    float* m,
    std::int64_t n,
    const MomentumFactors& factors);

/// p <- p - rate scale (g + decay p)
void plain_step(
    float* p,
    const float* g,
    std::int64_t n,
    const MomentumFactors& factors);

struct AdamWFactors {
  float keep = 1;  ///< 1 - rate wd
  float beta1 = 0;
  float one_minus_beta1 = 1;
  float beta2 = 0;
  float one_minus_beta2 = 1;
  float root_bias2 = 1;  ///< sqrt(1 - beta2^t)
  float epsilon = 0;
  float rate = 0;  ///< rate / (1 - beta1^t)
};

/// m1 <- beta1 m1 + (1 - beta1) g,  m2 <- beta2 m2 + (1 - beta2) g^2,
/// p <- keep p - rate m1 / (sqrt(m2) / root_bias2 + epsilon)
void adamw_step(
    float* p,
    const float* g,
    float* m1,
    float* m2,
    std::int64_t n,
    const AdamWFactors& factors);

}  // namespace barlow::optim
