// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <string>

namespace barlow::app {

/// Sets LibTorch's threads: `requested`, or with 0 the cores that the affinity
/// mask leaves this process (LibTorch's own count misses hardware threads).
/// `sharing`: how many ranks share them, each of which takes its part and at
/// least one. Returns the number set.
int set_threads(std::int64_t requested, int sharing = 1);

/// Says so on stderr where LibTorch's matrix products run on the reference
/// BLAS, which is about a hundred times slower than OpenBLAS.
void warn_about_slow_blas();

/// "barlow: " and a line on stderr, in one piece: ranks share it.
void print_error(const std::string& message);

}  // namespace barlow::app
