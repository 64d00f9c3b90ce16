// SPDX-License-Identifier: MIT

#include "barlow/core/heap.h"

#ifdef __GLIBC__
#include <limits>
#include <malloc.h>
#endif

namespace barlow {

void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);  // no block of its own mapping, however large
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

}  // namespace barlow
