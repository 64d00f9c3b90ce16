// SPDX-License-Identifier: MIT

#include "barlow/core/peak_memory.h"
#include "barlow/train/memory_need.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "bench/benchmarks.h"
#include "bench/table.h"

namespace barlow::bench {
namespace {

constexpr double kMiB = 1 << 20;

train::Recipe recipe_of(std::int64_t batch, std::int64_t micro_batch) {
  train::Recipe recipe;
  recipe.batch_size = batch;
  recipe.micro_batch = micro_batch;
  recipe.backbone.architecture = "resnet18";
  recipe.backbone.stem = model::Stem::kSmall;
  recipe.projector = "512-512";
  recipe.view_a.size = 32;
  recipe.view_b.size = 32;
  return recipe;
}

// A step's own: activations, loss, gradients.
double peak_of_step(const train::Recipe& recipe) {
  model::BarlowTwins model = train::make_model(recipe, torch::kCPU);
  const auto optimizer = train::make_optimizer(recipe, model);
  train::TrainingStep step(
      model,
      *optimizer,
      train::training_step_options(recipe));
  const torch::Tensor view =
      torch::arange(recipe.batch_size * 3 * 32 * 32, torch::kFloat32)
          .sin_()
          .view({recipe.batch_size, 3, 32, 32})
          .contiguous(torch::MemoryFormat::ChannelsLast);
  const MemoryUse use = measure_memory([&] {
    static_cast<void>(step.run(view, view * 0.5, {0, 0}));
  });
  return static_cast<double>(use.peak_bytes) / kMiB;
}

}  // namespace

void run_memory(const Options& options) {
  Table table(
      "Peak memory of a training step, ResNet-18 at 32 px, D = 512: the batch "
      "at once, and replayed in micro-batches",
      options.json);
  const std::vector<std::int64_t> batches =
      options.quick ? std::vector<std::int64_t>{16, 32}
                    : std::vector<std::int64_t>{32, 64, 128, 256};
  for (const std::int64_t batch : batches) {
    for (const std::int64_t micro_batch : {std::int64_t{0}, std::int64_t{16}}) {
      const train::Recipe recipe = recipe_of(batch, micro_batch);
      const train::MemoryNeed need = train::memory_need(recipe);
      table.add(
          {{"batch", batch},
           {"micro_batch", micro_batch},
           {"peak_mib", peak_of_step(recipe)},
           {"told_activations_mib",
            static_cast<double>(need.activations) / kMiB},
           {"told_loss_mib", static_cast<double>(need.loss) / kMiB}});
    }
  }
  table.finish({{"threads", options.threads}});
}

}  // namespace barlow::bench
