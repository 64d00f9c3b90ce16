// SPDX-License-Identifier: MIT

#include "barlow/optim/adamw.h"

#include <cmath>
#include <cstdint>

#include "optim/flat_parameter.h"
#include "optim/kernels.h"

namespace barlow::optim {
namespace {

void check_options(const AdamWOptions& options) {
  TORCH_CHECK_VALUE(
      options.weight_decay >= 0,
      "AdamW: weight_decay must be >= 0, got ",
      options.weight_decay);
  TORCH_CHECK_VALUE(
      options.beta1 >= 0 && options.beta1 < 1 && options.beta2 >= 0 &&
          options.beta2 < 1,
      "AdamW: betas must be in [0, 1), got ",
      options.beta1,
      " and ",
      options.beta2);
  TORCH_CHECK_VALUE(
      options.epsilon > 0,
      "AdamW: epsilon must be > 0, got ",
      options.epsilon);
}

}  // namespace

AdamW::AdamW(const ParameterGroups& parameters, const AdamWOptions& options)
    : Optimizer(parameters), options_(options) {
  check_options(options);
  add_state("first_moment");
  add_state("second_moment");
  steps_ = add_counters("step");
}

AdamW::Scales AdamW::count_step(std::size_t index, double rate) {
  const auto t = static_cast<double>(++*steps_[index].data_ptr<std::int64_t>());
  const bool decays = entries()[index].kind == ParameterKind::kWeight ||
                      options_.decay_biases_and_norms;
  return {
      .keep = decays ? 1 - rate * options_.weight_decay : 1.0,
      .root_bias2 = std::sqrt(1 - std::pow(options_.beta2, t)),
      .rate = rate / (1 - std::pow(options_.beta1, t))};
}

void AdamW::update(
    std::size_t index,
    const torch::Tensor& gradient,
    double rate) {
  const auto& [parameter, kind, state] = entries()[index];
  const torch::Tensor& p = parameter.tensor;
  const torch::Tensor& first = state[0];
  const torch::Tensor& second = state[1];
  const Scales scales = count_step(index, rate);
  p.mul_(scales.keep);
  first.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
  second.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const torch::Tensor root =
      second.sqrt().div_(scales.root_bias2).add_(options_.epsilon);
  p.addcdiv_(first, root, -scales.rate);
}

void AdamW::update_flat(const std::vector<FlatParameter>& parameters) {
  std::vector<AdamWFactors> factors;
  for (const FlatParameter& flat : parameters) {
    const Scales scales = count_step(flat.index, flat.rate);
    factors.push_back(
        {.keep = static_cast<float>(scales.keep),
         .beta1 = static_cast<float>(options_.beta1),
         .one_minus_beta1 = static_cast<float>(1 - options_.beta1),
         .beta2 = static_cast<float>(options_.beta2),
         .one_minus_beta2 = static_cast<float>(1 - options_.beta2),
         .root_bias2 = static_cast<float>(scales.root_bias2),
         .epsilon = static_cast<float>(options_.epsilon),
         .rate = static_cast<float>(scales.rate)});
  }
  const std::vector<Chunk> chunks = cut(parameters);
  for_each_chunk(chunks, [&](std::size_t i) {
    const auto& [owner, begin, size] = chunks[i];
    const FlatParameter& flat = parameters[owner];
    adamw_step(
        flat.values + begin,
        flat.gradient + begin,
        flat.state[0] + begin,
        flat.state[1] + begin,
        size,
        factors[owner]);
  });
}

}  // namespace barlow::optim
