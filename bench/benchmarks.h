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

/// The loss and its gradients against the usual code and against the matrix
/// products alone, and what the planner picks.
void run_loss(const Options& options);

/// A LARS step, the same operation by operation, and a copy of as many bytes.
void run_optim(const Options& options);

/// Peak memory of a step, at once and replayed.
void run_memory(const Options& options);

/// The steps that bench/step.py asks for, by standard input and output.
void serve_steps(const Options& options);

/// A training step of the same global batch on one rank and on two.
void run_scaling(const Options& options);

/// A training step on two ranks: gradients exchanged during the backward pass,
/// and as one message after it.
void run_overlap(const Options& options);

}  // namespace barlow::bench
