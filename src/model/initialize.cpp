// SPDX-License-Identifier: MIT

#include "barlow/model/initialize.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <torch/types.h>

#include "barlow/core/random.h"
#include "barlow/model/layers.h"

namespace barlow::model {
namespace {

// Each run of this many values has a stream of its own (the key's epoch), so
// that threads may share one large parameter: 8192 x 8192 makes 4096 runs. The
// value is part of what a seed means.
constexpr std::int64_t kValuesPerStream = 1 << 14;

// Walks the modules in the order of module.parameters() and counts parameters.
class Initializer {
 public:
  explicit Initializer(std::uint64_t seed) : seed_(seed) {}

  void visit(torch::nn::Module& module) {
    if (auto* convolution = dynamic_cast<ConvolutionImpl*>(&module)) {
      initialize(*convolution);
    } else if (auto* batch_norm = dynamic_cast<BatchNormImpl*>(&module)) {
      initialize(*batch_norm);
    } else if (auto* linear = dynamic_cast<LinearImpl*>(&module)) {
      initialize(*linear);
    } else {
      TORCH_CHECK_VALUE(
          module.parameters(/*recurse=*/false).empty(),
          "initialize_parameters: no initialisation is known for ",
          module.name());
    }
    for (const auto& child : module.children()) {
      visit(*child);
    }
  }

 private:
  void initialize(ConvolutionImpl& convolution) {
    const torch::Tensor& weight = convolution.weight;
    const auto fan_out = static_cast<double>(weight.numel() / weight.size(1));
    const double deviation = std::sqrt(2.0 / fan_out);
    draw(weight, [&](RandomStream& s) { return deviation * s.normal(); });
  }

  void initialize(BatchNormImpl& batch_norm) {
    batch_norm.weight.fill_(batch_norm.options().initial_weight);
    batch_norm.bias.zero_();
    batch_norm.running_mean.zero_();
    batch_norm.running_var.fill_(1.0);
    batch_norm.num_batches_tracked.zero_();
    parameter_ += 2;
  }

  void initialize(LinearImpl& linear) {
    const double bound =
        1.0 / std::sqrt(static_cast<double>(linear.weight.size(1)));
    const auto uniform = [&](RandomStream& s) {
      return s.uniform(-bound, bound);
    };
    draw(linear.weight, uniform);
    if (linear.bias.defined()) {
      draw(linear.bias, uniform);
    }
  }

  template <class Value>
  void draw(torch::Tensor parameter, const Value& value) {
    const std::int64_t size = parameter.numel();
    torch::Tensor drawn = torch::empty(parameter.sizes(), torch::kFloat32);
    auto* values = drawn.data_ptr<float>();
    const std::int64_t streams =
        (size + kValuesPerStream - 1) / kValuesPerStream;
    at::parallel_for(0, streams, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t run = begin; run < end; ++run) {
        RandomStream stream(
            {.seed = seed_,
             .purpose = StreamPurpose::kParameterInit,
             .epoch = static_cast<std::uint64_t>(run),
             .image = parameter_});
        const std::int64_t first = run * kValuesPerStream;
        const std::int64_t last = std::min(first + kValuesPerStream, size);
        std::generate(values + first, values + last, [&] {
          return static_cast<float>(value(stream));
        });
      }
    });
    parameter.copy_(drawn);
    ++parameter_;
  }

  std::uint64_t seed_;
  std::uint64_t parameter_ = 0;
};

}  // namespace

void initialize_parameters(torch::nn::Module& module, std::uint64_t seed) {
  torch::NoGradGuard no_grad;
  Initializer(seed).visit(module);
}

}  // namespace barlow::model
