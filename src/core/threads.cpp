// SPDX-License-Identifier: MIT

#include "barlow/core/threads.h"

#include <dlfcn.h>

#include <ATen/Parallel.h>

namespace barlow {

void set_compute_threads(int threads) {
  at::set_num_threads(threads);
  // Looked up, since which BLAS there is, is the system's choice at run time.
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<void (*)(int)>(symbol)(threads);
  }
}

}  // namespace barlow
