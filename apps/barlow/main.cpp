// SPDX-License-Identifier: MIT

#include <algorithm>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <c10/util/Exception.h>

#include "barlow/commands.h"
#include "barlow/core/error.h"
#include "barlow/core/heap.h"
#include "barlow/core/text.h"
#include "barlow/core/version.h"
#include "barlow/machine.h"

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

// The flags of the command that was being read.
std::vector<std::string> known_flags(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return flags;
}

// One line: what is wrong, the nearest flag, where to read more.
std::string usage_message(const CLI::App* program, const CLI::Error& error) {
  const auto commands = program->get_subcommands();
  const CLI::App& command = commands.empty() ? *program : *commands.front();
  const std::string name =
      commands.empty() ? "barlow" : "barlow " + command.get_name();
  std::string message = name + ": " + error.what();
  std::replace(message.begin(), message.end(), '\n', ' ');
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // CLI11 lists all words that it could not place; the flag is among them.
    std::istringstream words(message);
    std::string word;
    while (words >> word && !word.starts_with("--")) {
    }
    const std::string nearest = nearest_name(word, known_flags(command));
    if (word.starts_with("--") && !nearest.empty()) {
      message += ", did you mean " + nearest + "?";
    }
  }
  return message + " (see " + name + " --help)\n";
}

int run(int argc, char** argv) {
  CLI::App program{
      "Barlow Twins self-supervised pretraining, the same on any number of "
      "devices.\nExit codes: 0 done, 1 failed, 2 wrong usage, 75 interrupted "
      "and resumable.",
      "barlow"};
  program.set_version_flag("--version", kVersion);
  program.require_subcommand(1);
  program.failure_message(usage_message);
  Action action;
  add_pretrain(program, action);
  add_knn(program, action);
  add_linear(program, action);
  add_verify(program, action);
  add_views(program, action);
  try {
    program.parse(normalized_arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  return action();
}

// A full disk or a closed pipe shows when the last line is written.
int with_output_written(int code) {
  if (std::cout.flush()) {
    return code;
  }
  print_error("stdout: cannot be written (is the disk full?)");
  return code == kExitDone ? kExitFailed : code;
}

}  // namespace
}  // namespace barlow::app

int main(int argc, char** argv) {
  using namespace barlow;  // NOLINT(google-build-using-namespace)
  try {
    keep_freed_memory();
    return app::with_output_written(app::run(argc, argv));
  } catch (const UsageError& error) {
    app::print_error(error.what());
    return app::kExitUsage;
  } catch (const c10::Error& error) {
    app::print_error(error.what_without_backtrace());
  } catch (const std::exception& error) {
    app::print_error(error.what());
  }
  return app::kExitFailed;
}
