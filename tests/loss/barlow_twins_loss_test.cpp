// SPDX-License-Identifier: MIT
//
// The loss as a function: its derivative, symmetries, limits and errors.

#include <limits>

#include <gtest/gtest.h>

#include "loss/both_paths.h"
#include "loss/reference.h"
#include "support/tensors.h"

namespace barlow {
namespace {

using test::barlow_loss;
using test::gradient_error;
using test::kRounding;
using test::LossAndGradients;
using test::max_error;
using test::relative_error;
using test::Views;

class LossAsAFunction : public test::BothPaths {};

INSTANTIATE_TEST_SUITE_P(
    Path,
    LossAsAFunction,
    test::both_paths(),
    test::path_name);

TEST_P(LossAsAFunction, GradientEqualsCentralDifferences) {
  const Views views = test::correlated_views(6, 4, 1);
  BarlowTwinsLossOptions chosen = options();
  chosen.lambda = 0.3;             // both terms matter
  chosen.variance_epsilon = 0.05;  // and so does the epsilon
  const LossAndGradients actual = barlow_loss(views, chosen);
  const auto of_a = [&](const torch::Tensor& z) {
    return barlow_twins_loss(z, views.b, chosen).total;
  };
  const auto of_b = [&](const torch::Tensor& z) {
    return barlow_twins_loss(views.a, z, chosen).total;
  };
  // step^2 truncation 1e-12, rounding 1e-16 / step = 1e-10 of a loss near 1.
  EXPECT_LT(
      gradient_error(
          actual.gradients,
          {test::central_differences(of_a, views.a),
           test::central_differences(of_b, views.b)}),
      1e-8);
}

TEST_P(LossAsAFunction, EqualsTheReferenceInFloat64) {
  for (const auto& [samples, features] :
       {std::pair{2, 1}, {2, 7}, {3, 5}, {40, 30}, {17, 96}}) {
    const Views views = test::correlated_views(samples, features, 2);
    const LossAndGradients expected = test::reference_loss(views);
    const LossAndGradients actual = barlow_loss(views, options());
    // One feature of two samples: C_11 = 1 - 1e-4, a total of 1e-8, and sample
    // space rounds a redundancy of 0 to 1e-16.
    const double tolerance = features == 1 ? 1e-8 : kRounding;
    EXPECT_EQ(actual.total.scalar_type(), torch::kFloat64);
    EXPECT_LT(relative_error(actual.total, expected.total), tolerance);
    EXPECT_LT(
        relative_error(actual.invariance, expected.invariance),
        kRounding);
    // Absolute: one feature has no redundancy.
    EXPECT_LT(max_error(actual.redundancy, expected.redundancy), kRounding);
    EXPECT_LT(gradient_error(actual.gradients, expected.gradients), tolerance);
  }
}

TEST_P(LossAsAFunction, IsInvariantToAffineMapsOfEachFeatureAndView) {
  const Views views = test::correlated_views(24, 10, 3);
  // Variances are above 0.1. A map with slope s changes a standardised feature
  // by the factor sqrt((1 + e / var) / (1 + e / (s^2 var))) with e the epsilon:
  // for s >= 0.5 it is within 4 e / (2 var) = 2e-13 of 1.
  BarlowTwinsLossOptions chosen = options();
  chosen.variance_epsilon = 1e-14;
  const torch::Tensor slope_a = 0.5 + test::normal({10}, 4).abs();
  const torch::Tensor slope_b = 0.5 + test::normal({10}, 5).abs();
  const LossAndGradients plain = barlow_loss(views, chosen);
  const LossAndGradients mapped = barlow_loss(
      {views.a * slope_a + test::normal({10}, 6),
       views.b * slope_b + test::normal({10}, 7)},
      chosen);
  EXPECT_LT(relative_error(mapped.total, plain.total), kRounding);
  EXPECT_LT(
      gradient_error(
          {mapped.gradients.a * slope_a, mapped.gradients.b * slope_b},
          plain.gradients),
      kRounding);
}

TEST_P(LossAsAFunction, FollowsPermutationsOfTheSamples) {
  const Views views = test::correlated_views(12, 9, 8);
  const torch::Tensor order =
      torch::tensor({3, 0, 11, 7, 5, 1, 2, 10, 4, 9, 8, 6}, torch::kInt64);
  const LossAndGradients plain = barlow_loss(views, options());
  const LossAndGradients permuted =
      barlow_loss({views.a.index({order}), views.b.index({order})}, options());
  EXPECT_LT(relative_error(permuted.total, plain.total), kRounding);
  EXPECT_LT(
      gradient_error(
          permuted.gradients,
          {plain.gradients.a.index({order}), plain.gradients.b.index({order})}),
      kRounding);
}

TEST_P(LossAsAFunction, IsSymmetricInTheViews) {
  const Views views = test::correlated_views(12, 9, 9);
  const LossAndGradients plain = barlow_loss(views, options());
  const LossAndGradients swapped = barlow_loss({views.b, views.a}, options());
  EXPECT_LT(relative_error(swapped.total, plain.total), kRounding);
  EXPECT_LT(
      gradient_error(
          {swapped.gradients.b, swapped.gradients.a},
          plain.gradients),
      kRounding);
}

TEST_P(LossAsAFunction, OfIdenticalViewsHasNoInvarianceTermAndEqualGradients) {
  const torch::Tensor z =
      test::correlated_views(50, 40, 10).a.to(torch::kFloat32);
  const LossAndGradients expected = test::reference_loss({z, z});
  const LossAndGradients actual = barlow_loss({z, z}, options());
  // C_ii = var / (var + eps) with var > 0.05.
  EXPECT_LT(actual.invariance.item<double>(), 40 * 4e-8);
  EXPECT_LT(relative_error(actual.total, expected.total), 1e-6);
  EXPECT_LT(gradient_error(actual.gradients, expected.gradients), 1e-6);
  EXPECT_LT(relative_error(actual.gradients.a, actual.gradients.b), 1e-6);
}

TEST_P(LossAsAFunction, CountsConstantFeaturesAndStaysFinite) {
  Views views = test::correlated_views(30, 8, 24);
  views.a.select(1, 2).fill_(0.1);
  views.a.select(1, 5).fill_(-7.3);
  views.b.select(1, 2).fill_(0.3);
  // Deviation 1e-5 around 0.3: variance 1e-10, 1e-5 of the epsilon.
  views.b.select(1, 6).mul_(1e-6).add_(0.3);
  for (const auto type : {torch::kFloat64, torch::kFloat32}) {
    const auto leaf = [type](const torch::Tensor& z) {
      return z.detach().to(type).clone().set_requires_grad(true);
    };
    const torch::Tensor a = leaf(views.a);
    const torch::Tensor b = leaf(views.b);
    const BarlowTwinsLoss loss = barlow_twins_loss(a, b, options());
    loss.total.backward();
    EXPECT_EQ(loss.constant_features.scalar_type(), torch::kInt64);
    EXPECT_EQ(loss.constant_features.item<std::int64_t>(), 4);
    EXPECT_TRUE(torch::isfinite(loss.total).item<bool>());
    EXPECT_TRUE(torch::isfinite(a.grad()).all().item<bool>());
    const LossAndGradients expected = test::reference_loss({a, b});
    EXPECT_LT(relative_error(loss.total, expected.total), 1e-6);
    EXPECT_LT(gradient_error({a.grad(), b.grad()}, expected.gradients), 1e-6);
  }
}

TEST_P(LossAsAFunction, OfWhollyConstantInputsIsTheNumberOfFeatures) {
  const torch::Tensor z = torch::full({16, 8}, 0.7F).set_requires_grad(true);
  const BarlowTwinsLoss loss = barlow_twins_loss(z, z, options());
  loss.total.backward();
  EXPECT_EQ(loss.total.item<float>(), 8.0F);
  EXPECT_EQ(loss.constant_features.item<std::int64_t>(), 16);
  EXPECT_EQ(z.grad().abs().max().item<float>(), 0.0F);
}

TEST_P(LossAsAFunction, PropagatesNaN) {
  torch::Tensor a = test::normal({5, 3}, 25);
  a[1][2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(
      torch::isnan(barlow_twins_loss(a, a, options()).total).item<bool>());
}

TEST(BarlowTwinsLoss, IsEqualOnBothPathsInFloat64) {
  const Views views = test::correlated_views(33, 47, 26);
  const LossAndGradients feature =
      barlow_loss(views, {.path = LossPath::kFeatureSpace});
  const LossAndGradients sample =
      barlow_loss(views, {.path = LossPath::kSampleSpace});
  EXPECT_LT(relative_error(sample.total, feature.total), kRounding);
  EXPECT_LT(gradient_error(sample.gradients, feature.gradients), kRounding);
}

TEST(BarlowTwinsLoss, ReportsThePathThatThePlannerChose) {
  const auto path_of = [](std::int64_t samples, std::int64_t features) {
    const torch::Tensor z = test::normal({samples, features}, 27);
    return barlow_twins_loss(z, z).path;
  };
  EXPECT_EQ(path_of(4, 64), LossPath::kSampleSpace);
  EXPECT_EQ(path_of(64, 4), LossPath::kFeatureSpace);
}

TEST(BarlowTwinsLoss, RefusesWrongArguments) {
  const torch::Tensor z = torch::randn({4, 3});
  const auto refuses = [](const torch::Tensor& a,
                          const torch::Tensor& b,
                          const BarlowTwinsLossOptions& options = {}) {
    EXPECT_THROW(
        static_cast<void>(barlow_twins_loss(a, b, options)),
        c10::ValueError);
  };
  refuses(z, torch::Tensor());
  refuses(z[0], z[0]);
  refuses(z, z.narrow(0, 0, 3));
  refuses(z, z.narrow(1, 0, 2));
  refuses(z.narrow(1, 0, 0), z.narrow(1, 0, 0));
  refuses(z, z.to(torch::kFloat64));
  refuses(z.to(torch::kInt64), z.to(torch::kInt64));
  refuses(z, z.to(torch::kMeta));
  refuses(z.narrow(0, 0, 1), z.narrow(0, 0, 1));
  refuses(z.narrow(0, 0, 0), z.narrow(0, 0, 0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refuses(z, z, {.lambda = -1e-3});
  refuses(z, z, {.lambda = nan});
  refuses(z, z, {.variance_epsilon = 0});
  refuses(z, z, {.variance_epsilon = nan});
  refuses(z, z, {.product_type = torch::kFloat16});
  refuses(z, z, {.emulate_world_size = 0});
}

TEST(BarlowTwinsLoss, NamesTheBatchOfOne) {
  try {
    static_cast<void>(
        barlow_twins_loss(torch::randn({1, 3}), torch::randn({1, 3})));
    FAIL();
  } catch (const c10::ValueError& error) {
    EXPECT_NE(
        std::string(error.what()).find("at least 2 samples"),
        std::string::npos);
  }
}

}  // namespace
}  // namespace barlow
