// SPDX-License-Identifier: MIT
//
// Compiled where LibTorch has CUDA and NCCL's header is there.

#include "dist/c10d_backend.h"

#ifndef USE_C10D_NCCL
#define USE_C10D_NCCL
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

namespace barlow::dist::detail {

bool has_nccl() {
  return true;
}

std::shared_ptr<ProcessGroupBackend> make_nccl_backend(
    const Membership& membership,
    torch::Device device) {
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = membership.timeout;
  const auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      membership.store,
      membership.rank,
      membership.size,
      options);
  return make_backend(
      membership,
      nccl,
      {.device = device, .half_precision = true});
}

}  // namespace barlow::dist::detail
