// SPDX-License-Identifier: MIT
//
// barlow_bench NAME [--threads T] [--json] [--quick]

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include "barlow/core/heap.h"
#include "barlow/core/threads.h"
#include "bench/benchmarks.h"

namespace {

using barlow::bench::Options;

const std::map<std::string, void (*)(const Options&)>& benchmarks() {
  static const std::map<std::string, void (*)(const Options&)> all{
      {"loss", barlow::bench::run_loss},
      {"optim", barlow::bench::run_optim},
      {"memory", barlow::bench::run_memory},
      {"overlap", barlow::bench::run_overlap},
      {"scaling", barlow::bench::run_scaling},
      {"serve-steps", barlow::bench::serve_steps},
  };
  return all;
}

int usage() {
  std::fprintf(
      stderr,
      "usage: barlow_bench NAME [--threads T] [--json] "
      "[--quick], NAME one of:");
  for (const auto& [name, function] : benchmarks()) {
    // bench/step.py, which bench/run starts, serves itself with that one.
    const bool served = name == "serve-steps";
    std::fprintf(stderr, " %s", served ? "step" : name.c_str());
  }
  std::fprintf(stderr, "\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = argc > 1 ? benchmarks().find(argv[1]) : benchmarks().end();
  if (found == benchmarks().end()) {
    return usage();
  }
  Options options;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--threads" && i + 1 < argc) {
      options.threads = std::atoi(argv[++i]);
    } else {
      return usage();
    }
  }
  if (options.threads < 1) {
    return usage();
  }
  barlow::keep_freed_memory();
  barlow::set_compute_threads(options.threads);
  try {
    found->second(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "barlow_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
