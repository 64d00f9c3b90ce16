// SPDX-License-Identifier: MIT

#include "eval/lbfgs.h"

#include <gtest/gtest.h>

#include "eval/softmax_regression.h"
#include "support/tensors.h"

namespace barlow::eval::detail {
namespace {

torch::Tensor identity(const torch::Tensor& gradient) {
  return gradient.clone();
}

// f(x, y) = (1 - x)^2 + 100 (y - x^2)^2, minimum 0 at (1, 1).
Evaluation rosenbrock(const torch::Tensor& point) {
  const double x = point[0].item<double>();
  const double y = point[1].item<double>();
  const double rest = y - x * x;
  return {
      (1 - x) * (1 - x) + 100 * rest * rest,
      torch::tensor(
          {-2 * (1 - x) - 400 * x * rest, 200 * rest},
          torch::kFloat64)};
}

TEST(Lbfgs, MinimisesRosenbrocksFunction) {
  const LbfgsResult result = minimise(
      rosenbrock,
      identity,
      torch::tensor({-1.2, 1.0}, torch::kFloat64),
      {.gradient_tolerance = 1e-9});
  EXPECT_TRUE(result.converged);
  EXPECT_LT(result.iterations, 100);
  // The Hessian's smallest eigenvalue there is 0.4: |x - x*| <= |grad| / 0.4.
  EXPECT_LT(
      test::max_error(result.point, torch::ones({2}, torch::kFloat64)),
      1e-8);
}

TEST(Lbfgs, TakesOneStepWhenThePreconditionerIsTheInverseHessian) {
  const torch::Tensor scale = torch::tensor({1e-3, 1.0, 1e4}, torch::kFloat64);
  const LbfgsResult result = minimise(
      [&](const torch::Tensor& x) {
        return Evaluation{
            0.5 * (scale * x.square()).sum().item<double>(),
            scale * x};
      },
      [&](const torch::Tensor& g) { return g / scale; },
      torch::ones({3}, torch::kFloat64),
      {.gradient_tolerance = 1e-10});
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 1);
}

TEST(Lbfgs, SaysThatItStoppedShort) {
  const LbfgsResult result = minimise(
      rosenbrock,
      identity,
      torch::tensor({-1.2, 1.0}, torch::kFloat64),
      {.max_iterations = 3});
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 3);
  EXPECT_EQ(result.value, rosenbrock(result.point).value);
}

TEST(Lbfgs, StopsAtAMinimumThatItStartsFrom) {
  const LbfgsResult result =
      minimise(rosenbrock, identity, torch::ones({2}, torch::kFloat64), {});
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 0);
}

constexpr std::int64_t kRows = 300;
constexpr std::int64_t kFeatures = 5;
constexpr std::int64_t kClasses = 4;

torch::Tensor inputs() {
  return test::normal({kRows, kFeatures}, 1).to(torch::kFloat32);
}

torch::Tensor targets() {
  return torch::arange(kRows).remainder(kClasses);
}

torch::Tensor reference(const torch::Tensor& p, double penalty) {
  const torch::Tensor w = p.narrow(0, 0, kFeatures);
  const torch::Tensor logits =
      inputs().to(torch::kFloat64).mm(w) + p[kFeatures];
  return -logits.log_softmax(1).gather(1, targets().unsqueeze(1)).mean() +
         0.5 * penalty * w.square().sum();
}

// Float32 scores of magnitude 5 are off by some 5 x 2^-24 each, 1e-6 with the
// factor that covers the softmax; averages over rows are below that.
TEST(SoftmaxRegression, EqualsAFloat64ReferenceAndItsDifferences) {
  constexpr double kTolerance = 1e-6;
  const torch::Tensor p = test::normal({kFeatures + 1, kClasses}, 2);
  const SoftmaxRegression objective(inputs(), targets(), kClasses, 0.3);
  const Evaluation result = objective.evaluate(p);
  EXPECT_NEAR(result.value, reference(p, 0.3).item<double>(), kTolerance);
  const torch::Tensor gradient = test::central_differences(
      [](const torch::Tensor& x) { return reference(x, 0.3); },
      p);
  EXPECT_LT(test::max_error(result.gradient, gradient), kTolerance);
}

// Blocks of 8192 rows: two and a bit. The thirds that it is compared with are
// one block each.
TEST(SoftmaxRegression, SumsOverBlocks) {
  constexpr std::int64_t kWide = 1024;
  constexpr std::int64_t kThird = 5700;
  ASSERT_EQ(rows_in_block(kWide, kClasses), 8192);
  const torch::Tensor x =
      test::normal({190, kWide}, 3).to(torch::kFloat32).repeat({90, 1});
  const torch::Tensor y = torch::arange(3 * kThird).remainder(kClasses);
  const torch::Tensor p = 0.01 * test::normal({kWide + 1, kClasses}, 4);
  const Evaluation whole = SoftmaxRegression(x, y, kClasses, 0).evaluate(p);
  double value = 0;
  torch::Tensor gradient = torch::zeros_like(p);
  for (std::int64_t first = 0; first < 3 * kThird; first += kThird) {
    const SoftmaxRegression part(
        x.narrow(0, first, kThird),
        y.narrow(0, first, kThird),
        kClasses,
        0);
    const Evaluation third = part.evaluate(p);
    value += third.value / 3;
    gradient += third.gradient / 3;
  }
  EXPECT_NEAR(whole.value, value, 1e-7);
  EXPECT_LT(test::relative_error(whole.gradient, gradient), 1e-6);
}

// The bound of Boehning holds if M - H has no negative eigenvalue: here by its
// quadratic form along random directions, H by differences of the gradient.
TEST(BoehningPreconditioner, InvertsAnUpperBoundOnTheHessian) {
  const torch::Tensor x = inputs() - inputs().mean(0);
  const double penalty = 0.05;
  const SoftmaxRegression objective(x, targets(), kClasses, penalty);
  const Preconditioner inverse =
      BoehningPreconditioner(x).with_penalty(penalty);
  const torch::Tensor p = 0.1 * test::normal({kFeatures + 1, kClasses}, 5);
  for (std::uint64_t seed = 10; seed < 30; ++seed) {
    // v = M^-1 u, so that v.M v = v.u.
    const torch::Tensor u = test::normal({kFeatures + 1, kClasses}, seed);
    const torch::Tensor v = inverse(u);
    const double step = 1e-3;
    const torch::Tensor hv = (objective.evaluate(p + step * v).gradient -
                              objective.evaluate(p - step * v).gradient) /
                             (2 * step);
    // Differences of float32 numbers of 0.1: 1e-8 / step.
    EXPECT_LT(
        (v * hv).sum().item<double>(),
        (v * u).sum().item<double>() + 1e-3);
  }
}

TEST(BoehningPreconditioner, SurvivesDependentFeatures) {
  const torch::Tensor x = inputs();
  const torch::Tensor twice = torch::cat({x, x, torch::zeros_like(x)}, 1);
  const Preconditioner inverse =
      BoehningPreconditioner(twice).with_penalty(1e-12);
  const torch::Tensor u = test::normal({3 * kFeatures + 1, kClasses}, 6);
  EXPECT_GT((u * inverse(u)).sum().item<double>(), 0);
  EXPECT_TRUE(inverse(u).isfinite().all().item<bool>());
}

}  // namespace
}  // namespace barlow::eval::detail
