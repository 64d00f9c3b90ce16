// SPDX-License-Identifier: MIT
//
// Parameters whose numbers, gradients and state are plain arrays, and their
// division into pieces that threads share.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/types.h>

namespace barlow::optim {

/// A parameter of one step, as arrays of `size` float32 numbers in the same
/// order. The arrays belong to the tensors.
struct FlatParameter {
  std::size_t index = 0;  ///< of Optimizer::entries()
  double rate = 0;
  std::int64_t size = 0;
  float* values = nullptr;
  std::array<float*, 2> state{};
  const float* gradient = nullptr;
  torch::Tensor gradient_owner;
};

/// The arrays of a parameter; nullopt unless parameter, gradient and state (at
/// most two tensors) are float32 on the CPU, of one shape, and parameter and
/// state fill their memory in the same order, whichever it is. A gradient in
/// another order is copied.
[[nodiscard]] std::optional<FlatParameter> flatten(
    const torch::Tensor& parameter,
    const torch::Tensor& gradient,
    const std::vector<torch::Tensor>& state);

/// Numbers [begin, begin + size) of parameters[parameter].
struct Chunk {
  std::size_t parameter = 0;
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

/// 64 KiB an array: four arrays fit into a second-level cache, and a chunk
/// takes a hundred times as long as to hand it out. The division depends on
/// sizes alone, so that no sum depends on the number of threads.
inline constexpr std::int64_t kChunkSize = std::int64_t{1} << 14;

/// All parameters, in order.
[[nodiscard]] std::vector<Chunk> cut(
    const std::vector<FlatParameter>& parameters);

/// Calls body(i) for each chunk i, shared by LibTorch's threads.
template <class Body>
void for_each_chunk(const std::vector<Chunk>& chunks, const Body& body) {
  at::parallel_for(
      0,
      static_cast<std::int64_t>(chunks.size()),
      1,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          body(static_cast<std::size_t>(i));
        }
      });
}

}  // namespace barlow::optim
