// SPDX-License-Identifier: MIT
//
// Where this process stands among the ranks, and where they meet.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace barlow::dist {

/// What a launcher, or the user, tells a process.
struct Rendezvous {
  int rank = 0;        ///< in [0, world_size)
  int world_size = 1;  ///< at least 1
  int local_rank = 0;  ///< this machine's ranks, counted from 0
  int local_size = 1;  ///< how many ranks share this machine

  /// Where the store of addresses listens.
  std::string host = "127.0.0.1";
  std::uint16_t port = 29500;

  /// Does another process, such as torchrun's agent, run the store? Otherwise
  /// rank 0 does.
  bool external_store = false;

  /// Kept apart in the store: "/worker/attempt_0" under torchrun.
  std::string prefix;

  /// "torchrun", "mpirun", "srun", "flags": for messages.
  std::string launcher = "flags";
};

/// The value of an environment variable, or nullopt.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;

/// Recognises, in this order,
///
///     torchrun          RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
///                       MASTER_ADDR, MASTER_PORT (and what sets the same)
///     Open MPI          OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
///     Slurm's srun      SLURM_STEP_ID, SLURM_PROCID, SLURM_STEP_NUM_TASKS,
///                       SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE,
///                       SLURM_STEP_NODELIST
///
/// and returns nullopt where none is there, or the launcher started a single
/// process. mpirun and srun name no meeting place: MASTER_ADDR and MASTER_PORT
/// do where they are set; else it is this machine if all ranks run on it, under
/// srun the first node of the step, and a port made from the job's number.
///
/// Throws UsageError, naming the variable, what was found and what expected.
[[nodiscard]] std::optional<Rendezvous> rendezvous_from_environment(
    const Environment& environment);

/// Throws UsageError if the numbers do not fit together.
void validate(const Rendezvous& rendezvous);

/// "node[03-05,9],other" -> "node03": Slurm's short form of host lists.
[[nodiscard]] std::string first_host(const std::string& host_list);

}  // namespace barlow::dist
