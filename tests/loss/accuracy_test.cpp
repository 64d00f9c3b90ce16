// SPDX-License-Identifier: MIT
//
// The error bounds that barlow_twins_loss.h states, against float64.

#include <sstream>

#include <gtest/gtest.h>

#include "loss/reference.h"
#include "support/tensors.h"

namespace barlow {
namespace {

using test::barlow_loss;
using test::gradient_error;
using test::LossAndGradients;
using test::relative_error;
using test::Views;

constexpr double kStatedError = 1e-6;

struct Size {
  std::int64_t samples;
  std::int64_t features;
};

Views as_type(const Views& views, torch::ScalarType type) {
  return {views.a.to(type), views.b.to(type)};
}

class Accuracy : public testing::TestWithParam<Size> {
 protected:
  // float32 inputs; the reference sees the same numbers.
  Views views_ = as_type(
      test::correlated_views(GetParam().samples, GetParam().features, 1),
      torch::kFloat32);
};

TEST_P(Accuracy, OfFloat32InputsIsAsStatedOnBothPaths) {
  const LossAndGradients expected = test::reference_loss(views_);
  for (const LossPath path :
       {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
    SCOPED_TRACE(path == LossPath::kFeatureSpace ? "feature" : "sample");
    const LossAndGradients actual = barlow_loss(views_, {.path = path});
    const double value_error = relative_error(actual.total, expected.total);
    const double slope_error =
        gradient_error(actual.gradients, expected.gradients);
    EXPECT_LT(value_error, kStatedError);
    EXPECT_LT(slope_error, kStatedError);
    EXPECT_EQ(actual.total.scalar_type(), torch::kFloat32);
    EXPECT_LT(
        relative_error(actual.invariance, expected.invariance),
        kStatedError);
    EXPECT_LT(
        relative_error(actual.redundancy, expected.redundancy),
        kStatedError);
  }
}

// A mean 1e5 times the deviation: float32 holds it to a hundredth of the
// deviation, and its square would leave nothing of a difference of squares.
TEST(BarlowTwinsLossAccuracy, SurvivesMeansMuchLargerThanDeviations) {
  Views views = test::correlated_views(700, 200, 2);
  views = as_type({views.a + 1e5, views.b - 3e4}, torch::kFloat32);
  const LossAndGradients expected = test::reference_loss(views);
  for (const LossPath path :
       {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
    const LossAndGradients actual = barlow_loss(views, {.path = path});
    EXPECT_LT(relative_error(actual.total, expected.total), kStatedError);
    EXPECT_LT(
        gradient_error(actual.gradients, expected.gradients),
        kStatedError);
  }
}

// Collapsing embeddings: one direction shared by all features, so that every
// correlation is near 1. The gradient is what two projections leave of vectors
// 1 / sqrt(1 - C^2), here about 5, times longer, and rounding grows likewise.
TEST(BarlowTwinsLossAccuracy, DegradesWithCorrelationOnlyAsProjectionsMust) {
  Views views = test::correlated_views(600, 160, 3);
  const torch::Tensor common = 10 * test::normal({600, 1}, 4);
  views = as_type({views.a + common, views.b + common}, torch::kFloat32);
  const LossAndGradients expected = test::reference_loss(views);
  for (const LossPath path :
       {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
    const LossAndGradients actual = barlow_loss(views, {.path = path});
    EXPECT_LT(relative_error(actual.total, expected.total), kStatedError);
    EXPECT_LT(
        gradient_error(actual.gradients, expected.gradients),
        5 * kStatedError);
  }
}

// The bound that planner.h derives: with C near the identity, sample space has
// an absolute error of float32's rounding of the diagonal's sum of squares.
TEST(BarlowTwinsLossAccuracy, SampleSpaceErrorIsRelativeToTheDiagonal) {
  const std::int64_t features = 150;
  const torch::Tensor basis =
      std::get<0>(torch::linalg_qr(test::normal({4000, features}, 5)));
  const torch::Tensor centred = basis - basis.mean(0);
  const torch::Tensor noise = test::normal({4000, features}, 6);
  const Views views =
      as_type({60 * centred, 60 * centred + 0.01 * noise}, torch::kFloat32);
  const LossAndGradients expected = test::reference_loss(views);
  const double off_diagonal = expected.redundancy.item<double>();
  ASSERT_LT(off_diagonal, 0.02 * features);
  const LossAndGradients feature =
      barlow_loss(views, {.path = LossPath::kFeatureSpace});
  EXPECT_LT(
      relative_error(feature.redundancy, expected.redundancy),
      kStatedError);
  const LossAndGradients sample =
      barlow_loss(views, {.path = LossPath::kSampleSpace});
  EXPECT_LT(
      test::max_error(sample.redundancy, expected.redundancy),
      2e-7 * features);
}

// The bounds that BarlowTwinsLossOptions::product_type states.
TEST(BarlowTwinsLossAccuracy, OfRoundedProductsIsAsStated) {
  for (const Size size : {Size{256, 2048}, Size{1024, 512}, Size{2048, 1024}}) {
    const Views views = as_type(
        test::correlated_views(size.samples, size.features, 7),
        torch::kFloat32);
    const LossAndGradients expected = test::reference_loss(views);
    for (const LossPath path :
         {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
      const LossAndGradients actual =
          barlow_loss(views, {.path = path, .product_type = torch::kBFloat16});
      EXPECT_LT(relative_error(actual.total, expected.total), 2e-4);
      EXPECT_LT(
          relative_error(actual.invariance, expected.invariance),
          kStatedError);
      const double error = gradient_error(actual.gradients, expected.gradients);
      EXPECT_LT(error, 5e-3);
      EXPECT_GT(error, 1e-5) << "they were not rounded";
    }
  }
}

TEST(BarlowTwinsLossAccuracy, SmallProblemsAreNotRounded) {
  const Views views =
      as_type(test::correlated_views(32, 64, 8), torch::kFloat32);
  const LossAndGradients exact = barlow_loss(views, {});
  const LossAndGradients asked =
      barlow_loss(views, {.product_type = torch::kBFloat16});
  EXPECT_TRUE(torch::equal(asked.total, exact.total));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes,
    Accuracy,
    testing::Values(
        Size{2, 1},
        Size{3, 5},
        Size{64, 128},
        Size{256, 2048},
        Size{1024, 512},
        Size{300, 8192}),
    [](const auto& size) {
      std::ostringstream name;
      name << "N" << size.param.samples << "D" << size.param.features;
      return name.str();
    });

}  // namespace
}  // namespace barlow
