// SPDX-License-Identifier: MIT
//
// A process group's collectives by c10d.

#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/types.h>
#include <torch/version.h>

// Since LibTorch 2.0 a ProcessGroup is a dispatcher, and what communicates is a
// Backend, with the calls that ProcessGroup had before.
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

#include "barlow/dist/process_group.h"
#include "dist/peer_monitor.h"

namespace barlow::dist::detail {

#if TORCH_VERSION_MAJOR >= 2
using Communicator = c10d::Backend;
#else
using Communicator = c10d::ProcessGroup;
#endif

/// What a rank needs to join. The two stores reach the same place through
/// connections of their own.
struct Membership {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::Store> monitor_store;
  std::string store_host;  ///< for messages
  std::chrono::milliseconds timeout{};
};

/// Gloo, on the network device of `address` (an IP address), or of `interface`
/// where that is not empty.
[[nodiscard]] std::shared_ptr<ProcessGroupBackend> make_gloo_backend(
    const Membership& membership,
    const std::string& address,
    const std::string& interface);

/// Whether this build has NCCL.
[[nodiscard]] bool has_nccl();

/// NCCL on `device`. Throws Error where there is none in this build.
[[nodiscard]] std::shared_ptr<ProcessGroupBackend> make_nccl_backend(
    const Membership& membership,
    torch::Device device);

/// Which tensors a communicator takes: others travel as a copy.
struct Transport {
  torch::Device device = torch::kCPU;
  bool half_precision = false;  ///< float16 and bfloat16 as they are
};

[[nodiscard]] std::shared_ptr<ProcessGroupBackend> make_backend(
    const Membership& membership,
    const c10::intrusive_ptr<Communicator>& communicator,
    const Transport& transport);

}  // namespace barlow::dist::detail
