// SPDX-License-Identifier: MIT
//
// Loops compiled for several instruction sets.

#pragma once

/// Put before a function whose loops the compiler can vectorise: it is compiled
/// for each instruction set below and the best one is chosen at load time.
/// Results are the same bits in all of them: integer sums are exact, and floats
/// are neither reordered nor contracted (-ffp-contract=off).
///
/// Sanitizers are left out: they instrument the chooser, which runs before
/// their own start.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BARLOW_VECTOR_CLONES \
  __attribute__((target_clones("default", "avx2", "arch=skylake-avx512")))
#else
#define BARLOW_VECTOR_CLONES
#endif

/// For what such a function calls: code that is not inlined into it is compiled
/// for the oldest instruction set only.
#define BARLOW_INLINE __attribute__((always_inline))
