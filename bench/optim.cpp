// SPDX-License-Identifier: MIT

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <ATen/Parallel.h>

#include "barlow/model/initialize.h"
#include "barlow/model/twins.h"
#include "barlow/optim/lars.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "bench/table.h"

namespace barlow::bench {
namespace {

// The authors' rates at batch 2048.
constexpr optim::LearningRates kRates{1.6, 0.0384};
constexpr optim::LarsOptions kLars;

/// LARS as it is usually written: tensor after tensor, operation after
/// operation, each a pass over memory.
class UsualLars {
 public:
  explicit UsualLars(std::vector<torch::Tensor> parameters)
      : parameters_(std::move(parameters)) {
    for (const torch::Tensor& p : parameters_) {
      momentum_.push_back(torch::zeros_like(p));
    }
  }

  void step() {
    torch::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      torch::Tensor& p = parameters_[i];
      const bool weight = p.dim() > 1;
      const torch::Tensor change = weight ? adapted(p) : p.grad();
      momentum_[i].mul_(kLars.momentum).add_(change);
      p.add_(momentum_[i], weight ? -kRates.weights : -kRates.biases);
    }
  }

 private:
  static torch::Tensor adapted(const torch::Tensor& p) {
    const torch::Tensor change = p.grad().add(p, kLars.weight_decay);
    const torch::Tensor p_norm = p.norm();
    const torch::Tensor change_norm = change.norm();
    const torch::Tensor one = torch::ones_like(p_norm);
    const torch::Tensor ratio = torch::where(
        p_norm > 0,
        torch::where(
            change_norm > 0,
            p_norm * kLars.trust_coefficient / change_norm,
            one),
        one);
    return change.mul(ratio);
  }

  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> momentum_;
};

/// Copies past the caches where it can: an ordinary store reads the line that
/// it is about to overwrite, half as much traffic again.
void copy_block(const char* from, char* to, std::int64_t bytes) {
#ifdef __SSE2__
  for (std::int64_t i = 0; i < bytes; i += 16) {
    _mm_stream_si128(
        reinterpret_cast<__m128i*>(to + i),
        _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
#else
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
}

/// Moves as many bytes as a LARS step must: it reads p, g and the momentum and
/// writes two of them, 20 bytes a number; a copy of 10 bytes moves 20.
class Floor {
 public:
  explicit Floor(std::int64_t numbers)
      : blocks_((10 * numbers + kBlockBytes - 1) / kBlockBytes),
        from_(torch::ones({blocks_ * kBlockBytes}, torch::kUInt8)),
        to_(torch::ones_like(from_)) {}

  void copy() {
    const auto* from = static_cast<const char*>(from_.data_ptr());
    auto* to = static_cast<char*>(to_.data_ptr());
    at::parallel_for(0, blocks_, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * kBlockBytes; i < end * kBlockBytes;
           i += kBlockBytes) {
        copy_block(from + i, to + i, kBlockBytes);
      }
    });
  }

 private:
  static constexpr std::int64_t kBlockBytes = 1 << 16;
  std::int64_t blocks_;
  torch::Tensor from_;
  torch::Tensor to_;
};

void compare(
    const std::string& architecture,
    const std::string& projector,
    Table& table) {
  model::BarlowTwins twins(
      model::ResNetOptions{.architecture = architecture},
      model::parse_projector(projector));
  model::initialize_parameters(*twins, 1);
  std::int64_t numbers = 0;
  for (torch::Tensor& p : twins->parameters()) {
    p.mutable_grad() =
        torch::randn_like(p, torch::TensorOptions().requires_grad(false))
            .mul_(1e-3);
    numbers += p.numel();
  }
  optim::Lars ours(optim::group_parameters(twins->named_parameters()), kLars);
  UsualLars usual(twins->parameters());
  Floor floor(numbers);
  const auto timings = time_in_turns_for(
      {[&] { ours.step(kRates); },
       [&] { usual.step(); },
       [&] {
         floor.copy();
       }},
      30);
  table.add(
      {{"model", architecture},
       {"projector", projector},
       {"parameters", numbers},
       {"ours_ms", timings[0].median_ms},
       {"reference_ms", timings[1].median_ms},
       {"ratio", timings[1].median_ms / timings[0].median_ms},
       {"floor_ms", timings[2].median_ms},
       {"over_floor", timings[0].median_ms / timings[2].median_ms}});
}

}  // namespace

void run_optim(const Options& options) {
  Table table(
      "A LARS step: ours, operation by operation, and a copy of as many bytes "
      "as a step must move",
      options.json);
  if (options.quick) {
    compare("resnet18", "512-512", table);
  } else {
    compare("resnet50", "8192-8192-8192", table);
  }
  table.finish(
      {{"threads", options.threads},
       {"floor_bytes_per_number", 20},
       {"ours_bytes_per_number", "20, and 8 for norms, less what is cached"}});
}

}  // namespace barlow::bench
