// SPDX-License-Identifier: MIT

#include "train/verify_reference.h"

#include "barlow/core/random.h"

namespace barlow::train::detail {
namespace {

torch::Tensor
normal(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  torch::Tensor numbers = torch::empty({rows, columns}, torch::kFloat64);
  RandomStream stream({.seed = seed});
  double* values = numbers.data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) {
    values[i] = stream.normal();
  }
  return numbers;
}

}  // namespace

VerifyViews verify_views(std::int64_t samples, std::int64_t features) {
  constexpr double kNoise = 0.5;
  constexpr std::int64_t kSignals = 64;  // far fewer than features: they repeat
  const torch::Tensor mixing = normal(kSignals, features, 1);
  const torch::Tensor signal = torch::mm(normal(samples, kSignals, 2), mixing)
                                   .div_(8.0)
                                   .add_(normal(samples, features, 3));
  const torch::Tensor scale = normal(1, features, 4).exp_();
  const torch::Tensor mean = normal(1, features, 5);
  const auto view = [&](std::uint64_t seed) {
    return (signal + kNoise * normal(samples, features, seed)) * scale + mean;
  };
  return {view(6), view(7)};
}

torch::Tensor standardized(const torch::Tensor& z) {
  const torch::Tensor centred = z - z.mean(0, /*keepdim=*/true);
  const torch::Tensor variance = centred.square().mean(0, /*keepdim=*/true);
  return centred / (variance + 1e-5).sqrt();
}

torch::Tensor loss_of_correlation(const torch::Tensor& c) {
  const torch::Tensor diagonal = c.diagonal();
  const torch::Tensor redundancy = c.square().sum() - diagonal.square().sum();
  return (diagonal - 1).square().sum() + kVerifyLambda * redundancy;
}

VerifyResult reference_loss(const VerifyViews& views) {
  const torch::Tensor a = views.a.detach().clone().set_requires_grad(true);
  const torch::Tensor b = views.b.detach().clone().set_requires_grad(true);
  const torch::Tensor c = torch::mm(standardized(a).t(), standardized(b)) /
                          static_cast<double>(a.size(0));
  const torch::Tensor loss = loss_of_correlation(c);
  loss.backward();
  return {loss.item<double>(), a.grad(), b.grad()};
}

}  // namespace barlow::train::detail
