// SPDX-License-Identifier: MIT

#include "barlow/loss/barlow_twins_loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <ATen/Context.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

#include "loss/objective.h"

namespace barlow {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Products of float32 matrices keep float32's digits whatever the caller's
// surroundings say. Both settings belong to the thread.
struct FullPrecisionGuard {
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
  at::NoTF32Guard no_tf32;
};

// An identity that refuses to be differentiated. `anchor` requires a gradient
// and has no other use: it makes the result part of the graph even where
// nothing else does, so that a second derivative is an error and not zero.
struct RefuseDerivative : Function<RefuseDerivative> {
  static torch::Tensor forward(
      AutogradContext* /*context*/,
      const torch::Tensor& gradient,
      const torch::Tensor& /*anchor*/) {
    return gradient;
  }

  static variable_list backward(
      AutogradContext* /*context*/,
      const variable_list& /*gradients*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false,
        "barlow_twins_loss: its gradient cannot be differentiated again");
  }
};

// Of a scalar; false where the answer would have to be waited for.
bool is_one(const torch::Tensor& scalar) {
  return scalar.device().is_cpu() && scalar.item<double>() == 1;
}

// The gradients are computed in forward, which needs the D x D or n x N
// temporaries anyway: between forward and backward only they are kept.
struct LossFunction : Function<LossFunction> {
  static variable_list forward(
      AutogradContext* context,
      const torch::Tensor& z_a,
      const torch::Tensor& z_b,
      const detail::ObjectiveRequest& request) {
    const FullPrecisionGuard full_precision;
    detail::Objective objective = detail::evaluate_objective(
        z_a.detach().contiguous(),
        z_b.detach().contiguous(),
        request);
    const bool wide = z_a.scalar_type() == torch::kFloat64;
    const auto type = wide ? torch::kFloat64 : torch::kFloat32;
    const auto narrowed = [type](const torch::Tensor& gradient) {
      return gradient.defined() ? gradient.to(type) : gradient;
    };
    context->save_for_backward(
        {narrowed(objective.a_gradient), narrowed(objective.b_gradient)});
    variable_list outputs{
        objective.total.to(type),
        objective.invariance.to(type),
        objective.redundancy.to(type),
        objective.constant_features};
    context->mark_non_differentiable({outputs[1], outputs[2], outputs[3]});
    context->saved_data["input_type"] = z_a.scalar_type();
    return outputs;
  }

  static variable_list backward(
      AutogradContext* context,
      const variable_list& upstream) {
    const variable_list saved = context->get_saved_variables();
    const torch::ScalarType type =
        context->saved_data["input_type"].toScalarType();
    variable_list gradients(3);  // the third input is not a tensor
    for (std::size_t view = 0; view < saved.size(); ++view) {
      if (!saved[view].defined()) {
        continue;
      }
      // Scaled before it is narrowed: a float16 gradient may need the scale.
      // The loss itself is differentiated in most uses, with a factor of 1.
      const torch::Tensor scaled = is_one(upstream[0])
                                       ? saved[view]
                                       : saved[view].mul(upstream[0].detach());
      gradients[view] = scaled.to(type);
      if (torch::GradMode::is_enabled()) {
        gradients[view] = RefuseDerivative::apply(
            gradients[view],
            torch::zeros({1}, gradients[view].options().requires_grad(true)));
      }
    }
    return gradients;
  }
};

bool is_supported(torch::ScalarType type) {
  return type == torch::kFloat32 || type == torch::kFloat64 ||
         type == torch::kFloat16 || type == torch::kBFloat16;
}

void check_arguments(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const BarlowTwinsLossOptions& options) {
  TORCH_CHECK_VALUE(
      z_a.defined() && z_b.defined(),
      "barlow_twins_loss: z_a and z_b must be defined");
  TORCH_CHECK_VALUE(
      z_a.dim() == 2 && z_a.size(1) >= 1,
      "barlow_twins_loss: z_a must be [n, D] with D >= 1, got ",
      z_a.sizes());
  TORCH_CHECK_VALUE(
      z_a.sizes() == z_b.sizes(),
      "barlow_twins_loss: z_a and z_b must have one shape, got ",
      z_a.sizes(),
      " and ",
      z_b.sizes());
  TORCH_CHECK_VALUE(
      z_a.scalar_type() == z_b.scalar_type() && is_supported(z_a.scalar_type()),
      "barlow_twins_loss: z_a and z_b must be of one dtype, float64, float32, "
      "float16 or bfloat16, got ",
      z_a.scalar_type(),
      " and ",
      z_b.scalar_type());
  TORCH_CHECK_VALUE(
      z_a.device() == z_b.device(),
      "barlow_twins_loss: z_a and z_b must be on one device, got ",
      z_a.device(),
      " and ",
      z_b.device());
  TORCH_CHECK_VALUE(
      std::isfinite(options.lambda) && options.lambda >= 0,
      "barlow_twins_loss: lambda must be finite and at least 0, got ",
      options.lambda);
  TORCH_CHECK_VALUE(
      std::isfinite(options.variance_epsilon) && options.variance_epsilon > 0,
      "barlow_twins_loss: variance_epsilon must be finite and above 0, got ",
      options.variance_epsilon);
  TORCH_CHECK_VALUE(
      options.product_type == torch::kFloat32 ||
          options.product_type == torch::kBFloat16,
      "barlow_twins_loss: product_type must be float32 or bfloat16, got ",
      options.product_type);
  TORCH_CHECK_VALUE(
      options.emulate_world_size >= 1,
      "barlow_twins_loss: emulate_world_size must be at least 1, got ",
      options.emulate_world_size);
}

detail::ObjectiveRequest agree_on_request(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const BarlowTwinsLossOptions& options,
    const dist::ProcessGroup& group) {
  detail::ObjectiveRequest request;
  request.options = options;
  request.group = group;
  request.row_counts = group.gather_counts(z_a.size(0));
  const auto& counts = request.row_counts;
  const std::int64_t samples =
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  TORCH_CHECK_VALUE(
      samples >= 2,
      "barlow_twins_loss: the global batch must have at least 2 samples, since "
      "each feature is standardised over it, got ",
      samples);
  const bool grad_mode = torch::GradMode::is_enabled();
  request.needs_gradient = {
      grad_mode && z_a.requires_grad(),
      grad_mode && z_b.requires_grad()};
  request.plan = plan_loss_path(
      {.samples = samples,
       .features = z_a.size(1),
       .ranks = group.size(),
       .rows_per_rank = *std::max_element(counts.begin(), counts.end()),
       .views_with_gradient = static_cast<std::int64_t>(std::count(
           request.needs_gradient.begin(),
           request.needs_gradient.end(),
           true)),
       .input_type = z_a.scalar_type(),
       .product_type = options.product_type},
      options.path);
  return request;
}

}  // namespace

BarlowTwinsLoss barlow_twins_loss(
    const torch::Tensor& z_a,
    const torch::Tensor& z_b,
    const BarlowTwinsLossOptions& options,
    const dist::ProcessGroup& process_group) {
  check_arguments(z_a, z_b, options);
  const detail::ObjectiveRequest request =
      agree_on_request(z_a, z_b, options, process_group);
  const variable_list outputs = LossFunction::apply(z_a, z_b, request);
  return {outputs[0], outputs[1], outputs[2], outputs[3], request.plan.path};
}

}  // namespace barlow
