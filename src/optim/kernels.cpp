// SPDX-License-Identifier: MIT

#include "optim/kernels.h"

#include <cmath>

#include "core/vector_clones.h"

namespace barlow::optim {
namespace {

constexpr int kRows = 8;
constexpr int kLanes = 64;  // four AVX-512 registers
constexpr int kBlock = kRows * kLanes;

}  // namespace

BARLOW_VECTOR_CLONES SquaredNorms
squared_norms(const float* p, const float* g, float decay, std::int64_t n) {
  SquaredNorms sums;
  std::int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    float of_p[kLanes] = {};
    float of_g[kLanes] = {};
    for (int row = 0; row < kRows; ++row) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float a = p[i + row * kLanes + lane];
        const float b = g[i + row * kLanes + lane] + decay * a;
        of_p[lane] += a * a;
        of_g[lane] += b * b;
      }
    }
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int lane = 0; lane < half; ++lane) {
        of_p[lane] += of_p[lane + half];
        of_g[lane] += of_g[lane + half];
      }
    }
    sums.parameter += static_cast<double>(of_p[0]);
    sums.gradient += static_cast<double>(of_g[0]);
  }
  for (; i < n; ++i) {
    const float b = g[i] + decay * p[i];
    sums.parameter += static_cast<double>(p[i] * p[i]);
    sums.gradient += static_cast<double>(b * b);
  }
  return sums;
}

BARLOW_VECTOR_CLONES void momentum_step(
    float* p,
    const float* g,
    float* m,
    std::int64_t n,
    const MomentumFactors& factors) {
  const auto [decay, scale, momentum, rate] = factors;
  for (std::int64_t i = 0; i < n; ++i) {
    const float moved = momentum * m[i] + scale * (g[i] + decay * p[i]);
    m[i] = moved;
    p[i] -= rate * moved;
  }
}

BARLOW_VECTOR_CLONES void nesterov_step(
    float* p,
    const float* g,
    float* m,
    std::int64_t n,
    const MomentumFactors& factors) {
  const auto [decay, scale, momentum, rate] = factors;
  for (std::int64_t i = 0; i < n; ++i) {
    const float change = scale * (g[i] + decay * p[i]);
    const float moved = momentum * m[i] + change;
    m[i] = moved;
    p[i] -= rate * (change + momentum * moved);
  }
}

BARLOW_VECTOR_CLONES void plain_step(
    float* p,
    const float* g,
    std::int64_t n,
    const MomentumFactors& factors) {
  const auto [decay, scale, momentum, rate] = factors;
  for (std::int64_t i = 0; i < n; ++i) {
    p[i] -= rate * (scale * (g[i] + decay * p[i]));
  }
}

BARLOW_VECTOR_CLONES void adamw_step(
    float* p,
    const float* g,
    float* m1,
    float* m2,
    std::int64_t n,
    const AdamWFactors& factors) {
  const AdamWFactors f = factors;
  for (std::int64_t i = 0; i < n; ++i) {
    const float first = f.beta1 * m1[i] + f.one_minus_beta1 * g[i];
    const float second = f.beta2 * m2[i] + f.one_minus_beta2 * g[i] * g[i];
    const float root = std::sqrt(second) / f.root_bias2 + f.epsilon;
    m1[i] = first;
    m2[i] = second;
    p[i] = f.keep * p[i] - f.rate * first / root;
  }
}

}  // namespace barlow::optim
