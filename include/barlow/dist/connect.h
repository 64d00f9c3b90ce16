// SPDX-License-Identifier: MIT
//
// Process groups over c10d: Gloo on CPU, NCCL where LibTorch has CUDA.

#pragma once

#include <chrono>
#include <functional>
#include <string>

#include <torch/types.h>

#include "barlow/dist/process_group.h"
#include "barlow/dist/rendezvous.h"

namespace barlow::dist {

struct ConnectOptions {
  /// Decides the backend: NCCL for a CUDA device, where it is built in.
  torch::Device device = torch::kCPU;

  /// How long a rank waits for its peers, in the rendezvous and in each
  /// collective, before it gives up.
  std::chrono::milliseconds timeout{300'000};

  /// Gloo's network interface, "eth0". Empty: that of the address from which
  /// the rendezvous' host is reached.
  std::string interface {};
};

/// Joins the group that `rendezvous` describes. Collective: returns once all
/// ranks are there. A world size of 1 is a single process, without a network.
///
/// Throws Error if the others do not appear within the time-out, naming the
/// address and the ranks that are missing, or if two processes claim one rank.
[[nodiscard]] ProcessGroup connect(
    const Rendezvous& rendezvous,
    const ConnectOptions& options = {});

/// Calls `body` on `ranks` threads of this process at once, each with its
/// handle to one Gloo group, and returns when all have ended: the same
/// collectives as between processes, through loopback, without a launcher. Each
/// has one thread of tensor operations.
///
/// If a rank throws, the others' collectives fail, and the first exception in
/// time is thrown here. With one rank, `body` is called on this thread.
void run_local_ranks(
    int ranks,
    const std::function<void(const ProcessGroup&)>& body,
    std::chrono::milliseconds timeout = std::chrono::milliseconds{300'000});

}  // namespace barlow::dist
