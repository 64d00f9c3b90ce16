// SPDX-License-Identifier: MIT

#include <memory>

#include "barlow/dist/connect.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "bench/table.h"

namespace barlow::bench {
namespace {

constexpr int kRanks = 2;

struct Shape {
  const char* architecture;
  std::int64_t side;
  std::int64_t batch;  // of all ranks
  const char* projector;
};

train::Recipe recipe_of(const Shape& shape) {
  train::Recipe recipe;
  recipe.backbone.architecture = shape.architecture;
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.projector = shape.projector;
  recipe.batch_size = shape.batch;
  return recipe;
}

// One rank's training, with one way of exchange.
class Trainee {
 public:
  Trainee(
      const Shape& shape,
      dist::GradientExchange exchange,
      const dist::ProcessGroup& group)
      : recipe_(recipe_of(shape)),
        model_(train::make_model(recipe_, torch::kCPU)),
        optimizer_(train::make_optimizer(recipe_, model_)),
        images_(torch::full(
            {shape.batch / kRanks, 3, shape.side, shape.side},
            0.5)) {
    // Any numbers that are not all equal.
    images_.mul_(torch::arange(images_.numel()).remainder(97).view_as(images_));
    train::TrainingStepOptions options = train::training_step_options(recipe_);
    options.exchange.exchange = exchange;
    step_ = std::make_unique<train::TrainingStep>(
        model_,
        *optimizer_,
        options,
        group);
  }

  void step() {
    static_cast<void>(step_->run(images_, images_ * 0.9, {1e-4, 1e-4}));
  }

 private:
  train::Recipe recipe_;
  model::BarlowTwins model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  torch::Tensor images_;
  std::unique_ptr<train::TrainingStep> step_;
};

}  // namespace

void run_overlap(const Options& options) {
  Table table(
      "A training step on two ranks of one machine, gradients averaged during "
      "the backward pass or after it",
      options.json);
  for (const Shape& shape :
       {Shape{"resnet18", 32, 64, "512-512"},
        Shape{"resnet18", 32, 64, "4096-4096"}}) {
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
