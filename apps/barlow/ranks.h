// SPDX-License-Identifier: MIT
//
// The ranks of a distributed command: started here, or by a launcher.

#pragma once

#include <optional>
#include <string>

#include <CLI/App.hpp>

#include "barlow/dist/connect.h"
#include "barlow/dist/rendezvous.h"

namespace barlow::app {

/// The flags --ranks, --rank, --world-size, --master-addr, --master-port,
/// --timeout-s and --interface.
class RankFlags {
 public:
  /// Who starts local ranks, if any are wanted.
  enum class Launching {
    kHere,       ///< --ranks W, and `launch_ranks`
    kByCommand,  ///< the command itself: no --ranks here
  };

  /// This object must outlive the command's parsing.
  void add_to(CLI::App& command, Launching launching = Launching::kHere);

  /// Where this process stands, if it is one of several ranks: from the flags,
  /// or the launcher's environment. Throws UsageError.
  [[nodiscard]] std::optional<dist::Rendezvous> rendezvous() const;

  /// Must this process start the ranks, by `launch_ranks`? Throws UsageError if
  /// it is a rank already.
  [[nodiscard]] bool launches() const;

  [[nodiscard]] int ranks() const { return ranks_; }

  [[nodiscard]] dist::ConnectOptions connect_options(
      torch::Device device) const;

 private:
  [[nodiscard]] bool is_given(const char* flag) const;
  [[nodiscard]] dist::Rendezvous from_flags() const;

  CLI::App* command_ = nullptr;
  int ranks_ = 1;
  int rank_ = 0;
  int world_size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::string host_;
  int port_ = 29500;
  double timeout_s_ = 300;
  std::string interface_;
};

/// "rank 1 of 2: " before a message that does not name a rank already.
[[nodiscard]] std::string name_rank(
    const dist::Rendezvous& rendezvous,
    const std::string& message);

/// Runs this very command line once more for each rank. Returns its exit code.
[[nodiscard]] int launch_ranks(int ranks);

}  // namespace barlow::app
