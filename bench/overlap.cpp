// SPDX-License-Identifier: MIT

#include "barlow/dist/connect.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "bench/table.h"
#include "bench/trainee.h"

namespace barlow::bench {
namespace {

constexpr int kRanks = 2;

}  // namespace

void run_overlap(const Options& options) {
  Table table(
      "A training step on two ranks of one machine, gradients averaged during "
      "the backward pass or after it",
      options.json);
  for (const TraineeShape& shape :
       {TraineeShape{"resnet18", 32, 64, "512-512"},
        TraineeShape{"resnet18", 32, 64, "4096-4096"}}) {
    dist::run_local_ranks(kRanks, [&](const dist::ProcessGroup& group) {
      Trainee overlapped(shape, dist::GradientExchange::kOverlapped, group);
      Trainee after(shape, dist::GradientExchange::kAfterBackward, group);
      const auto timings = time_in_turns(
          {[&] { overlapped.step(); },
           [&] {
             after.step();
           }},
          options.quick ? 1 : 9);
      if (group.rank() == 0) {
        table.add(
            {{"model", shape.architecture},
             {"projector", shape.projector},
             {"side_px", shape.side},
             {"global_batch", shape.batch},
             {"overlapped_ms", timings[0].median_ms},
             {"after_ms", timings[1].median_ms},
             {"ratio", timings[1].median_ms / timings[0].median_ms}});
      }
    });
  }
  table.finish({{"ranks", kRanks}, {"threads_per_rank", 1}});
}

}  // namespace barlow::bench
