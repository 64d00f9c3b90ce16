// SPDX-License-Identifier: MIT

#include "loss/gram.h"

#include <algorithm>
#include <cstdint>

#include "loss/product.h"

namespace barlow::detail {
namespace {

// Columns of a block. What is computed twice are the blocks on the diagonal, a
// share of 1 / blocks; below 64 columns a product is slower than that saves.
std::int64_t block_columns(std::int64_t samples) {
  return std::max<std::int64_t>(64, (samples / 16 + 31) / 32 * 32);
}

// gram <- rows rows^T, by blocks of columns down to the diagonal and their
// mirror images.
void fill_symmetric(torch::Tensor& gram, const torch::Tensor& rows) {
  const std::int64_t samples = rows.size(0);
  const std::int64_t step = block_columns(samples);
  for (std::int64_t first = 0; first < samples; first += step) {
    const std::int64_t columns = std::min(step, samples - first);
    torch::Tensor block =
        gram.narrow(0, 0, first + columns).narrow(1, first, columns);
    torch::mm_out(
        block,
        rows.narrow(0, 0, first + columns),
        rows.narrow(0, first, columns).t());
    gram.narrow(0, first, columns)
        .narrow(1, 0, first)
        .copy_(block.narrow(0, 0, first).t());
  }
}

}  // namespace

torch::Tensor gram_rows(const torch::Tensor& rows, const torch::Tensor& all) {
  if (rows.size(0) != all.size(0) || !rows.device().is_cpu() ||
      rows.scalar_type() == torch::kBFloat16) {
    return product(rows, all.t());
  }
  torch::Tensor gram =
      torch::empty({rows.size(0), rows.size(0)}, rows.options());
  fill_symmetric(gram, rows);
  return gram;
}

}  // namespace barlow::detail
