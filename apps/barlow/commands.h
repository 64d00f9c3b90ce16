// SPDX-License-Identifier: MIT
//
// The commands: each adds itself to the program and returns its exit code when
// it is the one that was asked for.

#pragma once

#include <functional>

#include <CLI/App.hpp>

namespace barlow::app {

/// Exit codes of the program.
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitInterrupted = 75,  ///< EX_TEMPFAIL: run the same command to go on
};

/// Set by the command that was chosen, called by main.
using Action = std::function<int()>;

void add_pretrain(CLI::App& program, Action& action);
void add_knn(CLI::App& program, Action& action);
void add_linear(CLI::App& program, Action& action);
void add_verify(CLI::App& program, Action& action);
void add_views(CLI::App& program, Action& action);

}  // namespace barlow::app
