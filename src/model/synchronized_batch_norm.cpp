// SPDX-License-Identifier: MIT

#include "model/synchronized_batch_norm.h"

#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ops/batch_norm_stats.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <torch/csrc/autograd/custom_function.h>

namespace barlow::model::detail {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// What autograd's context can keep.
struct GroupHolder : torch::CustomClassHolder {
  explicit GroupHolder(dist::ProcessGroup held) : group(std::move(held)) {}
  dist::ProcessGroup group;
};

struct Moments {
  torch::Tensor mean;      // [C] float64
  torch::Tensor variance;  // [C] float64, biased
};

// Of this rank's rows, of which there is at least one.
Moments local_moments(
    const torch::Tensor& x,
    const BatchNormTensors& tensors,
    double epsilon) {
  torch::Tensor mean;
  torch::Tensor variance;
  if (x.device().is_cpu() && x.scalar_type() == tensors.weight.scalar_type()) {
    std::tie(mean, variance) = at::batch_norm_update_stats(x, {}, {}, 0.0);
    return {mean.to(torch::kFloat64), variance.to(torch::kFloat64)};
  }
  torch::Tensor scale;
  if (x.device().is_cpu()) {
    // batch_norm_update_stats rounds the statistics of bfloat16 to bfloat16;
    // this one keeps them in the weight's type, and its output is not needed.
    torch::Tensor unused;
    std::tie(unused, mean, scale) = at::native_batch_norm(
        x,
        tensors.weight,
        tensors.bias,
        {},
        {},
        /*training=*/true,
        0.0,
        epsilon);
  } else {
    std::tie(mean, scale) = at::batch_norm_stats(x, epsilon);
  }
  const torch::Tensor wide = scale.to(torch::kFloat64);
  return {
      mean.to(torch::kFloat64),
      wide.square().reciprocal().sub_(epsilon).clamp_min_(0)};
}

// Over all ranks. `count` becomes the number of values a channel.
Moments global_moments(
    const torch::Tensor& x,
    const BatchNormTensors& tensors,
    const dist::ProcessGroup& group,
    double& count) {
  const std::int64_t channels = x.size(1);
  torch::Tensor sums =
      torch::zeros({2 * channels + 1}, x.options().dtype(torch::kFloat64));
  if (x.numel() > 0) {
    const double own = static_cast<double>(x.numel() / channels);
    const Moments moments = local_moments(x, tensors, tensors.epsilon);
    sums.narrow(0, 0, channels).copy_(moments.mean * own);
    sums.narrow(0, channels, channels)
        .copy_((moments.variance + moments.mean.square()) * own);
    sums[2 * channels].fill_(own);
  }
  group.all_reduce_sum_(sums);
  count = sums[2 * channels].item<double>();
  TORCH_CHECK_VALUE(
      count > 1,
      "BatchNorm: training needs more than one value per channel over all "
      "ranks, got ",
      count);
  const torch::Tensor mean = sums.narrow(0, 0, channels) / count;
  // float64 leaves this difference 1e-16 mean^2 of error: nothing, unless the
  // mean is 10^5 deviations, where float32 inputs have no digits left anyway.
  const torch::Tensor variance =
      (sums.narrow(0, channels, channels) / count - mean.square())
          .clamp_min_(0);
  return {mean, variance};
}

void update_running_statistics(
    const BatchNormTensors& tensors,
    const Moments& moments,
    double count) {
  const auto move = [&](torch::Tensor running, const torch::Tensor& batch) {
    running.mul_(1 - tensors.momentum)
        .add_(batch.to(running.scalar_type()), tensors.momentum);
  };
  move(tensors.running_mean, moments.mean);
  move(tensors.running_var, moments.variance * (count / (count - 1)));
}

// [C] in the shape that broadcasts over x.
torch::Tensor per_channel(const torch::Tensor& values, const torch::Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = values.size(0);
  return values.view(shape);
}

struct SynchronizedBatchNorm : Function<SynchronizedBatchNorm> {
  static torch::Tensor forward(
      AutogradContext* context,
      const torch::Tensor& x,
      const torch::Tensor& weight,
      const torch::Tensor& bias,
      const BatchNormTensors& tensors,
      const dist::ProcessGroup& group) {
    double count = 0;
    const Moments moments = global_moments(x, tensors, group, count);
    if (tensors.running_mean.defined()) {
      update_running_statistics(tensors, moments, count);
    }
    const torch::Tensor mean = moments.mean.to(weight.scalar_type());
    const torch::Tensor variance = moments.variance.to(weight.scalar_type());
    context->save_for_backward({x, weight, mean, variance});
    context->saved_data["count"] = count;
    context->saved_data["epsilon"] = tensors.epsilon;
    context->saved_data["group"] =
        c10::IValue::make_capsule(c10::make_intrusive<GroupHolder>(group));
    if (x.numel() == 0) {
      return at::empty_like(x);
    }
    return std::get<0>(at::native_batch_norm(
        x,
        weight,
        bias,
        mean,
        variance,
        /*training=*/false,
        0.0,
        tensors.epsilon));
  }

  static variable_list backward(
      AutogradContext* context,
      const variable_list& upstream) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        !torch::GradMode::is_enabled(),
        "synchronised batch norm: its gradient cannot be differentiated again");
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor& x = saved[0];
    const torch::Tensor& weight = saved[1];
    const torch::Tensor& mean = saved[2];
    const torch::Tensor& variance = saved[3];
    const double epsilon = context->saved_data["epsilon"].toDouble();
    const torch::Tensor& dy = upstream[0];

    torch::Tensor weight_gradient = torch::zeros_like(weight);
    torch::Tensor bias_gradient = torch::zeros_like(weight);
    if (x.numel() > 0) {
      std::tie(std::ignore, weight_gradient, bias_gradient) =
          at::native_batch_norm_backward(
              dy,
              x,
              weight,
              mean,
              variance,
              {},
              {},
              /*train=*/false,
              epsilon,
              {false, true, true});
    }
    torch::Tensor sums =
        torch::stack({bias_gradient, weight_gradient}).to(torch::kFloat64);
    const auto holder = c10::static_intrusive_pointer_cast<GroupHolder>(
        context->saved_data["group"].toCapsule());
    holder->group.all_reduce_sum_(sums);
    sums.div_(context->saved_data["count"].toDouble());
    return {
        input_gradient(dy, saved, sums, epsilon),
        weight_gradient,
        bias_gradient,
        {},
        {}};
  }

 private:
  // dx = w s (dy - mean(dy) - u mean(u dy)),  u = s (x - mean),
  // s = (variance + eps)^(-1/2); means are over all ranks.
  static torch::Tensor input_gradient(
      const torch::Tensor& dy,
      const variable_list& saved,
      const torch::Tensor& means,
      double epsilon) {
    const auto& [x, weight, mean, variance] =
        std::tie(saved[0], saved[1], saved[2], saved[3]);
    if (x.numel() == 0) {
      return torch::zeros_like(x);
    }
    const torch::ScalarType type = weight.scalar_type();
    const torch::Tensor s = (variance.to(torch::kFloat64) + epsilon).rsqrt_();
    const torch::Tensor scale = weight.to(torch::kFloat64) * s;
    const torch::Tensor shift = (scale * means[0]).neg_();
    const torch::Tensor slope = (scale * s * means[1]).neg_();
    torch::Tensor dx = x - per_channel(mean, x);
    torch::addcmul_out(
        dx,
        per_channel(shift.to(type), x),
        dx,
        per_channel(slope.to(type), x));
    dx.addcmul_(dy.to(type), per_channel(scale.to(type), x));
    return dx.to(x.scalar_type());
  }
};

}  // namespace

torch::Tensor synchronized_batch_norm(
    const torch::Tensor& x,
    const BatchNormTensors& tensors,
    const dist::ProcessGroup& group) {
  return SynchronizedBatchNorm::apply(
      x,
      tensors.weight,
      tensors.bias,
      tensors,
      group);
}

}  // namespace barlow::model::detail
