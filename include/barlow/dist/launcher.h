// SPDX-License-Identifier: MIT
//
// Starts the ranks of one machine.

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace barlow::dist {

struct LaunchOptions {
  int ranks = 1;                         ///< at least 1
  std::string program;                   ///< path of the executable
  std::vector<std::string> command;      ///< its arguments, without the program
  std::vector<std::string> environment;  ///< "NAME=value" of this process

  /// What a rank returns that was stopped in good order, as all will be.
  int interrupted_code = 75;

  /// How long the other ranks may go on once one has failed, to say what they
  /// saw, before they are killed.
  std::chrono::milliseconds grace{10'000};

  /// And how long once one of them has ended by itself: what it could find out
  /// about its peers, all have found out by then.
  std::chrono::milliseconds settle{2'400};
};

/// Told as it happens.
using LaunchMessage = std::function<void(const std::string&)>;

/// Runs `ranks` processes of `program` with torchrun's environment variables,
/// and returns when all have ended.
///
/// The store where they meet is this process's, on a port of loopback that the
/// system chooses: runs side by side do not disturb each other, and the store
/// outlives each rank. Each rank is in a process group of its own, so that a
/// terminal's Ctrl-C reaches only this process, which passes it on: once `stop`
/// is set, every rank receives SIGTERM.
///
/// Returns 0 if all ranks did, else the exit code of the first rank that ended
/// otherwise (128 + the signal's number for one that was killed); the others
/// are ended then. Throws Error if a process cannot be started.
[[nodiscard]] int launch_local_ranks(
    const LaunchOptions& options,
    const std::atomic<bool>& stop,
    const LaunchMessage& message);

}  // namespace barlow::dist
