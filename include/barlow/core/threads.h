// SPDX-License-Identifier: MIT

#pragma once

namespace barlow {

/// Makes LibTorch's operations use `threads` >= 1 threads, those of this
/// process together with the thread that calls.
///
/// LibTorch's own at::set_num_threads does not reach an OpenBLAS beneath it
/// that was built on pthreads (Debian's libopenblas0-pthread), whose matrix
/// products would go on using every core; this does.
void set_compute_threads(int threads);

}  // namespace barlow
