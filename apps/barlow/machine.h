// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>

namespace barlow::app {

/// Sets LibTorch's threads: `requested`, or with 0 the cores that the affinity
/// mask leaves this process (LibTorch's own count misses hardware threads).
/// Returns the number set.
int set_threads(std::int64_t requested);

/// Says so on stderr where LibTorch's matrix products run on the reference
/// BLAS, which is about a hundred times slower than OpenBLAS.
void warn_about_slow_blas();

}  // namespace barlow::app
