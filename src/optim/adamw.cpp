// SPDX-License-Identifier: MIT

#include "barlow/optim/adamw.h"

#include <cmath>
#include <cstdint>

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
  first_moment_ = add_state("first_moment");
  second_moment_ = add_state("second_moment");
  steps_ = add_counters("step");
}

void AdamW::update(
    std::size_t index,
    const torch::Tensor& gradient,
    double rate) {
  const Entry& entry = entries()[index];
  torch::Tensor p = entry.parameter.tensor;
  auto& step = *steps_[index].data_ptr<std::int64_t>();
  const auto t = static_cast<double>(++step);
  if (entry.kind == ParameterKind::kWeight || options_.decay_biases_and_norms) {
    p.mul_(1 - rate * options_.weight_decay);
  }
  torch::Tensor& first = first_moment_[index];
  torch::Tensor& second = second_moment_[index];
  first.mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
  second.mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
  const double bias1 = 1 - std::pow(options_.beta1, t);
  const double bias2 = 1 - std::pow(options_.beta2, t);
  const torch::Tensor scale =
      second.sqrt().div_(std::sqrt(bias2)).add_(options_.epsilon);
  p.addcdiv_(first, scale, -rate / bias1);
}

}  // namespace barlow::optim
