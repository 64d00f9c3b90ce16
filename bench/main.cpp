// SPDX-License-Identifier: MIT
//
// barlow_bench NAME [--threads T] [--json] [--quick]

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>

#include <ATen/Parallel.h>

#include "bench/benchmarks.h"

namespace {

using barlow::bench::Options;

const std::map<std::string, void (*)(const Options&)>& benchmarks() {
  static const std::map<std::string, void (*)(const Options&)> all{
      {"overlap", barlow::bench::run_overlap},
  };
  return all;
}

int usage() {
  std::fprintf(
      stderr,
      "usage: barlow_bench NAME [--threads T] [--json] "
      "[--quick], NAME one of:");
  for (const auto& [name, function] : benchmarks()) {
    std::fprintf(stderr, " %s", name.c_str());
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
  at::set_num_threads(options.threads);
  try {
    found->second(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "barlow_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
