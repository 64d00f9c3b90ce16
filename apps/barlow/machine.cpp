// SPDX-License-Identifier: MIT

#include "barlow/machine.h"

#include <algorithm>
#include <dlfcn.h>
#include <iostream>
#include <sched.h>

#include <ATen/Context.h>

#include "barlow/core/threads.h"

namespace barlow::app {
namespace {

int cores_of_this_process() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) {
    return 1;
  }
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace

int set_threads(std::int64_t requested, int sharing) {
  const int share = std::max(1, cores_of_this_process() / sharing);
  const int threads = requested > 0 ? static_cast<int>(requested) : share;
  set_compute_threads(threads);
  return threads;
}

void print_error(const std::string& message) {
  std::string line = "barlow: ";
  line.append(message).append("\n");
  std::cerr << line << std::flush;
}

void warn_about_slow_blas() {
  const bool fast = at::hasMKL() ||
                    dlsym(RTLD_DEFAULT, "openblas_get_config") != nullptr ||
                    dlsym(RTLD_DEFAULT, "bli_info_get_version_str") != nullptr;
  if (!fast) {
    print_error(
        "warning: LibTorch uses the reference BLAS here, about "
        "a hundred times slower than OpenBLAS (Debian: apt-get install "
        "libopenblas0-pthread)");
  }
}

}  // namespace barlow::app
