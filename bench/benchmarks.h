// SPDX-License-Identifier: MIT
//
// The benchmarks: each prints a table, and asserts nothing.

#pragma once

namespace barlow::bench {

struct Options {
  int threads = 1;
  bool json = false;
  bool quick = false;  ///< smaller sizes, to see that it runs
};

/// A training step on two ranks: gradients exchanged during the backward pass,
/// and as one message after it.
void run_overlap(const Options& options);

}  // namespace barlow::bench
