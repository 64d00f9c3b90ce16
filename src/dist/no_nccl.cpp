// SPDX-License-Identifier: MIT
//
// Takes the place of nccl.cpp where LibTorch has no CUDA.

#include "barlow/core/error.h"
#include "dist/c10d_backend.h"

namespace barlow::dist::detail {

bool has_nccl() {
  return false;
}

std::shared_ptr<ProcessGroupBackend> make_nccl_backend(
    const Membership& /*membership*/,
    torch::Device device) {
  fail("no NCCL in this build, which ", device.str(), " would need");
}

}  // namespace barlow::dist::detail
