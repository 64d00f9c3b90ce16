// SPDX-License-Identifier: MIT
//
// The half of the step benchmark that is barlow: bench/step.py starts it, sends
// a line for each step that it wants, and reads its time.

#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "bench/benchmarks.h"

namespace barlow::bench {
namespace {

// "NAME VALUE" lines until "end": what to train.
struct Request {
  train::Recipe recipe;
  std::int64_t side = 224;
};

Request read_request() {
  Request request;
  std::string name;
  std::string value;
  while (std::cin >> name && name != "end") {
    std::cin >> value;
    if (name == "side") {
      request.side = std::stoll(value);
    } else {
      train::set_recipe_key(request.recipe, name, value);
    }
  }
  return request;
}

torch::Tensor view(const Request& request, double phase) {
  const std::int64_t n = request.recipe.batch_size;
  torch::Tensor numbers =
      torch::arange(n * 3 * request.side * request.side, torch::kFloat32);
  return numbers.mul_(0.7)
      .add_(phase)
      .sin_()
      .view({n, 3, request.side, request.side})
      .contiguous(torch::MemoryFormat::ChannelsLast);
}

}  // namespace

void serve_steps(const Options& /*options*/) {
  const Request request = read_request();
  model::BarlowTwins model = train::make_model(request.recipe, torch::kCPU);
  const auto optimizer = train::make_optimizer(request.recipe, model);
  train::TrainingStep step(
      model,
      *optimizer,
      train::training_step_options(request.recipe));
  const torch::Tensor view_a = view(request, 0.0);
  const torch::Tensor view_b = view(request, 0.3);
  std::cout << "ready" << std::endl;
  std::string line;
  while (std::cin >> line && line == "step") {
    const auto start = std::chrono::steady_clock::now();
    const auto result = step.run(view_a, view_b, {1e-3, 1e-5});
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    std::cout << took.count() << " " << result.loss << std::endl;
  }
}

}  // namespace barlow::bench
