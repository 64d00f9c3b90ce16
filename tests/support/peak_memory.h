// SPDX-License-Identifier: MIT
//
// How much memory of tensors a piece of work needs, for tests.

#pragma once

#include <cstdint>
#include <functional>

namespace barlow::test {

/// The largest sum of bytes of LibTorch's CPU memory that were allocated since
/// `work` began and not yet freed, over `work`. What was allocated before does
/// not count, nor what a BLAS library keeps for itself. Of the calling thread
/// and those to which LibTorch hands its state.
[[nodiscard]] std::int64_t peak_bytes(const std::function<void()>& work);

}  // namespace barlow::test
