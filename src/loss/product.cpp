// SPDX-License-Identifier: MIT

#include "loss/product.h"

#include <algorithm>
#include <cstdint>

#include <ATen/Context.h>

#include "loss/product_blocks.h"

namespace barlow::detail {
namespace {

// What LibTorch asks of a processor before it hands a product to oneDNN.
bool processor_multiplies_bfloat16() {
#if defined(__x86_64__) && defined(__GNUC__)
  return at::hasMKLDNN() && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

torch::Tensor widened_product(const torch::Tensor& x, const torch::Tensor& y) {
  if (x.device().is_cpu() && !processor_multiplies_bfloat16()) {
    return torch::mm(x.to(torch::kFloat32), y.to(torch::kFloat32));
  }
  return torch::mm(x, y).to(torch::kFloat32);
}

}  // namespace

torch::Tensor product(const torch::Tensor& x, const torch::Tensor& y) {
  if (x.scalar_type() != torch::kBFloat16) {
    return torch::mm(x, y);
  }
  if (x.size(0) <= kProductRows) {
    return widened_product(x, y);
  }
  // By rows, so that a block is still in cache when it is widened.
  torch::Tensor out =
      torch::empty({x.size(0), y.size(1)}, x.options().dtype(torch::kFloat32));
  for (std::int64_t row = 0; row < x.size(0); row += kProductRows) {
    const std::int64_t rows = std::min(kProductRows, x.size(0) - row);
    out.narrow(0, row, rows).copy_(widened_product(x.narrow(0, row, rows), y));
  }
  return out;
}

}  // namespace barlow::detail
