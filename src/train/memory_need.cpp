// SPDX-License-Identifier: MIT

#include "barlow/train/memory_need.h"

#include <algorithm>
#include <optional>

#include "barlow/core/peak_memory.h"
#include "barlow/loss/planner.h"
#include "barlow/model/autocast.h"
#include "barlow/train/setup.h"

namespace barlow::train {
namespace {

constexpr std::int64_t kProbeImages = 2;

std::int64_t bytes_of(const std::vector<torch::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const torch::Tensor& tensor : tensors) {
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return bytes;
}

// What one image leaves behind for the backward pass. Twice as many leave twice
// as much but for casts of the weights, which both have: hence the difference.
std::int64_t activations_of_an_image(
    model::BarlowTwins& model,
    const Recipe& recipe,
    std::int64_t side) {
  const auto held_by = [&](std::int64_t images) {
    const torch::Tensor view =
        torch::ones({images, recipe.channels, side, side})
            .contiguous(torch::MemoryFormat::ChannelsLast);
    torch::Tensor z;
    return measure_memory([&] {
             std::optional<model::AutocastScope> autocast;
             if (recipe.precision == Precision::kBFloat16) {
               autocast.emplace(torch::kCPU, torch::kBFloat16);
             }
             z = model->embed(view);
           })
        .held_bytes;
  };
  return (held_by(2 * kProbeImages) - held_by(kProbeImages)) / kProbeImages;
}

}  // namespace

MemoryNeed memory_need(const Recipe& recipe, int ranks) {
  model::BarlowTwins model = make_model(recipe, torch::kCPU);
  const auto optimizer = make_optimizer(recipe, model);
  const std::int64_t rows = (recipe.batch_size + ranks - 1) / ranks;
  MemoryNeed need;

  const std::int64_t parameters = bytes_of(model->parameters());
  need.weights = parameters * (ranks > 1 ? 3 : 2);
  for (const auto& [name, tensor] : optimizer->state()) {
    need.weights += static_cast<std::int64_t>(tensor.nbytes());
  }

  const bool replays = recipe.micro_batch > 0 && recipe.micro_batch < rows;
  const std::int64_t a =
      activations_of_an_image(model, recipe, recipe.view_a.size);
  const std::int64_t b =
      recipe.view_b.size == recipe.view_a.size
          ? a
          : activations_of_an_image(model, recipe, recipe.view_b.size);
  need.activations =
      replays ? recipe.micro_batch * std::max(a, b) : rows * (a + b);

  const bool global = recipe.correlation == Correlation::kGlobal;
  const LossPlan plan = plan_loss_path(
      {.samples = global ? recipe.batch_size : rows,
       .features = model->embedding_dim(),
       .ranks = global ? ranks : 1,
       .rows_per_rank = rows,
       .product_type = recipe.loss.product_type},
      recipe.loss.path);
  const bool sample_space = plan.path == LossPath::kSampleSpace;
  need.loss = static_cast<std::int64_t>(
      (sample_space ? plan.sample_space : plan.feature_space).memory_bytes);

  const auto pixels = [](const data::ViewOptions& view) {
    return view.size * view.size;
  };
  need.batches = 4 * recipe.channels * rows * (recipe.queue_batches + 1) *
                 (pixels(recipe.view_a) + pixels(recipe.view_b));
  return need;
}

}  // namespace barlow::train
