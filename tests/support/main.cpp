// SPDX-License-Identifier: MIT
//
// The tests' main: two threads for LibTorch, whatever the machine has, so that
// a result depends on the code alone.

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "barlow/core/heap.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  at::set_num_threads(2);
  barlow::keep_freed_memory();
  return RUN_ALL_TESTS();
}
