// SPDX-License-Identifier: MIT
//
// How much memory of tensors a piece of work needs.

#pragma once

#include <cstdint>
#include <functional>

namespace barlow {

struct MemoryUse {
  std::int64_t peak_bytes = 0;  ///< the most that was held at a time
  std::int64_t held_bytes = 0;  ///< what is still held at the end
};

/// Runs `work` and counts LibTorch's CPU memory that is allocated in it, minus
/// what is released of that. What was allocated before does not count, nor what
/// a BLAS library keeps for itself. Of the calling thread and those to which
/// LibTorch hands its state, as backward passes do.
[[nodiscard]] MemoryUse measure_memory(const std::function<void()>& work);

}  // namespace barlow
