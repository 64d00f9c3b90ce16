// SPDX-License-Identifier: MIT

#include <chrono>

#include "barlow/core/threads.h"
#include "barlow/dist/connect.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "bench/table.h"
#include "bench/trainee.h"

namespace barlow::bench {
namespace {

struct Result {
  double step_ms = 0;
  double communication_share = 0;  // of rank 0
};

Result train_on(const TraineeShape& shape, int ranks, int rounds) {
  Result result;
  dist::run_local_ranks(ranks, [&](const dist::ProcessGroup& group) {
    Trainee trainee(shape, dist::GradientExchange::kOverlapped, group);
    trainee.step();
    const auto waited_before = group.time_waited();
    const auto start = std::chrono::steady_clock::now();
    const Timing timing = time_in_turns(
        {[&] {
          trainee.step();
        }},
        rounds)[0];
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    const std::chrono::duration<double> waited =
        group.time_waited() - waited_before;
    if (group.rank() == 0) {
      result = {timing.median_ms, waited / passed};
    }
  });
  return result;
}

}  // namespace

void run_scaling(const Options& options) {
  Table table(
      "A training step of the same global batch on one rank and on two, and "
      "the "
      "share of it that rank 0 waits in collectives",
      options.json);
  const int rounds = options.quick ? 1 : 9;
  for (const TraineeShape& shape :
       {TraineeShape{"resnet18", 32, 64, "512-512"},
        TraineeShape{"resnet18", 32, 64, "4096-4096"}}) {
    double one_rank_ms = 0;
    const auto add = [&](int ranks, int threads) {
      set_compute_threads(threads);
      const Result result = train_on(shape, ranks, rounds);
      one_rank_ms = one_rank_ms == 0 ? result.step_ms : one_rank_ms;
      table.add(
          {{"model", shape.architecture},
           {"projector", shape.projector},
           {"side_px", shape.side},
           {"global_batch", shape.batch},
           {"ranks", ranks},
           {"threads_per_rank", threads},
           {"step_ms", result.step_ms},
           {"speed", one_rank_ms / result.step_ms},
           {"communication_share", result.communication_share}});
    };
    add(1, 1);
    add(1, 2);
    add(2, 1);
  }
  table.finish({{"speed", "relative to one rank of one thread"}});
}

}  // namespace barlow::bench
