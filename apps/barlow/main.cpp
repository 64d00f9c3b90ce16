// SPDX-License-Identifier: MIT

#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <c10/util/Exception.h>

#include "barlow/commands.h"
#include "barlow/core/error.h"
#include "barlow/core/version.h"

namespace barlow::app {
namespace {

// --batch_size is --batch-size: a key is written the same way in a file and on
// the command line, for those who like it so.
std::vector<std::string> normalized_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  for (std::string& argument : arguments) {
    if (argument.starts_with("--")) {
      const auto end =
          argument.begin() + static_cast<std::ptrdiff_t>(
                                 std::min(argument.find('='), argument.size()));
      std::replace(argument.begin(), end, '_', '-');
    }
  }
  std::reverse(arguments.begin(), arguments.end());  // CLI11 pops from the back
  return arguments;
}

int run(int argc, char** argv) {
  CLI::App program{
      "Barlow Twins self-supervised pretraining, the same on any number of "
      "devices.\nExit codes: 0 done, 1 failed, 2 wrong usage, 75 interrupted "
      "and resumable.",
      "barlow"};
  program.set_version_flag("--version", kVersion);
  program.require_subcommand(1);
  Action action;
  add_pretrain(program, action);
  add_knn(program, action);
  add_linear(program, action);
  add_views(program, action);
  try {
    program.parse(normalized_arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  return action();
}

}  // namespace
}  // namespace barlow::app

int main(int argc, char** argv) {
  using namespace barlow;  // NOLINT(google-build-using-namespace)
  try {
    return app::run(argc, argv);
  } catch (const UsageError& error) {
    std::cerr << "barlow: " << error.what() << "\n";
    return app::kExitUsage;
  } catch (const c10::Error& error) {
    std::cerr << "barlow: " << error.what_without_backtrace() << "\n";
  } catch (const std::exception& error) {
    std::cerr << "barlow: " << error.what() << "\n";
  }
  return app::kExitFailed;
}
