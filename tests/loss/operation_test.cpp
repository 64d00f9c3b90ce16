// SPDX-License-Identifier: MIT
//
// The loss as a LibTorch operation: autograd, dtypes, strides, autocast.

#include <c10/core/impl/LocalDispatchKeySet.h>
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
using test::relative_error;
using test::Views;

class LossAsAnOperation : public test::BothPaths {};

INSTANTIATE_TEST_SUITE_P(
    Path,
    LossAsAnOperation,
    test::both_paths(),
    test::path_name);

TEST_P(LossAsAnOperation, TakesOneTensorAsBothViews) {
  const torch::Tensor z = test::normal({8, 5}, 11).set_requires_grad(true);
  barlow_twins_loss(z, z, options()).total.backward();
  const LossAndGradients apart =
      barlow_loss({z.detach(), z.detach()}, options());
  EXPECT_LT(
      relative_error(z.grad(), apart.gradients.a + apart.gradients.b),
      kRounding);
}

TEST_P(LossAsAnOperation, ScalesTheGradientByTheUpstreamOne) {
  const Views views = test::correlated_views(9, 6, 12);
  const LossAndGradients plain = barlow_loss(views, options());
  const torch::Tensor a = views.a.clone().set_requires_grad(true);
  const torch::Tensor b = views.b.clone().set_requires_grad(true);
  (barlow_twins_loss(a, b, options()).total * -2.5).backward();
  EXPECT_LT(
      gradient_error(
          {a.grad(), b.grad()},
          {plain.gradients.a * -2.5, plain.gradients.b * -2.5}),
      1e-15);
}

TEST_P(LossAsAnOperation, DividesOnlyTheGradientByTheEmulatedWorldSize) {
  const Views views = test::correlated_views(9, 6, 13);
  const LossAndGradients plain = barlow_loss(views, options());
  BarlowTwinsLossOptions chosen = options();
  chosen.emulate_world_size = 16;
  const LossAndGradients emulated = barlow_loss(views, chosen);
  EXPECT_EQ(emulated.total.item<double>(), plain.total.item<double>());
  EXPECT_LT(
      gradient_error(
          emulated.gradients,
          {plain.gradients.a / 16, plain.gradients.b / 16}),
      1e-15);
}

TEST_P(LossAsAnOperation, DifferentiatesOneViewAlone) {
  const Views views = test::correlated_views(9, 6, 14);
  const LossAndGradients both = barlow_loss(views, options());
  const torch::Tensor a = views.a.clone().set_requires_grad(true);
  const torch::Tensor b = views.b.clone().set_requires_grad(true);
  barlow_twins_loss(a, views.b, options()).total.backward();
  barlow_twins_loss(views.a, b, options()).total.backward();
  EXPECT_TRUE(torch::equal(a.grad(), both.gradients.a));
  EXPECT_TRUE(torch::equal(b.grad(), both.gradients.b));
}

TEST_P(LossAsAnOperation, GivesTheSameValueWithoutGradients) {
  const Views views = test::correlated_views(9, 6, 15);
  const BarlowTwinsLoss loss = barlow_twins_loss(views.a, views.b, options());
  EXPECT_FALSE(loss.total.requires_grad());
  EXPECT_TRUE(torch::equal(loss.total, barlow_loss(views, options()).total));
}

TEST_P(LossAsAnOperation, CarriesAGradientInTotalAlone) {
  const torch::Tensor a = test::normal({5, 3}, 16).set_requires_grad(true);
  const BarlowTwinsLoss loss = barlow_twins_loss(a, a, options());
  EXPECT_TRUE(loss.total.requires_grad());
  EXPECT_FALSE(loss.invariance.requires_grad());
  EXPECT_FALSE(loss.redundancy.requires_grad());
  EXPECT_EQ(loss.total.dim(), 0);
  EXPECT_EQ(loss.path, GetParam());
}

TEST_P(LossAsAnOperation, AcceptsAnyStrides) {
  const Views views = test::correlated_views(9, 6, 17);
  const LossAndGradients plain = barlow_loss(views, options());
  const torch::Tensor a = views.a.t().contiguous().t().set_requires_grad(true);
  const torch::Tensor wide =
      torch::cat({views.b, views.b}, 1).set_requires_grad(true);
  const BarlowTwinsLoss loss =
      barlow_twins_loss(a, wide.narrow(1, 6, 6), options());
  loss.total.backward();
  EXPECT_TRUE(torch::equal(loss.total, plain.total));
  EXPECT_TRUE(torch::equal(a.grad(), plain.gradients.a));
  EXPECT_TRUE(torch::equal(wide.grad().narrow(1, 6, 6), plain.gradients.b));
}

TEST_P(LossAsAnOperation, RefusesASecondBackwardPassAsLibTorchDoes) {
  const torch::Tensor a = test::normal({5, 3}, 18).set_requires_grad(true);
  const BarlowTwinsLoss loss =
      barlow_twins_loss(a, test::normal({5, 3}, 19), options());
  loss.total.backward({}, /*retain_graph=*/true);
  const torch::Tensor once = a.grad().clone();
  loss.total.backward();
  EXPECT_TRUE(torch::equal(a.grad(), 2 * once));
  try {
    loss.total.backward();
    FAIL() << "a third pass through a freed graph";
  } catch (const c10::Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("backward through the graph a second"),
        std::string::npos)
        << error.what();
  }
}

// The first gradient may not be the memory that the next pass reads.
TEST_P(LossAsAnOperation, RepeatsBackwardPassesThroughAKeptGraph) {
  const torch::Tensor a = test::normal({5, 3}, 18).set_requires_grad(true);
  const BarlowTwinsLoss loss =
      barlow_twins_loss(a, test::normal({5, 3}, 19), options());
  loss.total.backward({}, /*retain_graph=*/true);
  const torch::Tensor once = a.grad().clone();
  loss.total.backward({}, /*retain_graph=*/true);
  loss.total.backward({}, /*retain_graph=*/true);
  EXPECT_TRUE(torch::equal(a.grad(), 3 * once));
  a.mutable_grad().zero_();
  loss.total.backward();
  EXPECT_TRUE(torch::equal(a.grad(), once));
}

TEST_P(LossAsAnOperation, RefusesASecondDerivative) {
  const torch::Tensor a = test::normal({5, 3}, 20).set_requires_grad(true);
  const BarlowTwinsLoss loss =
      barlow_twins_loss(a, test::normal({5, 3}, 21), options());
  loss.total.backward({}, /*retain_graph=*/true, /*create_graph=*/true);
  EXPECT_THROW(a.grad().sum().backward(), c10::NotImplementedError);
  a.mutable_grad() = torch::Tensor();  // breaks the cycle that it is in
}

TEST_P(LossAsAnOperation, TakesHalfPrecisionInputsAsTheFloat32NumbersTheyAre) {
  for (const auto type : {torch::kFloat16, torch::kBFloat16}) {
    Views views = test::correlated_views(60, 200, 22);
    views = {views.a.to(type), views.b.to(type)};
    const LossAndGradients expected = barlow_loss(
        {views.a.to(torch::kFloat32), views.b.to(torch::kFloat32)},
        options());
    const LossAndGradients actual = barlow_loss(views, options());
    EXPECT_EQ(actual.total.scalar_type(), torch::kFloat32);
    EXPECT_EQ(actual.gradients.a.scalar_type(), type);
    EXPECT_TRUE(torch::equal(actual.total, expected.total));
    EXPECT_TRUE(
        torch::equal(actual.gradients.a, expected.gradients.a.to(type)));
  }
}

TEST_P(LossAsAnOperation, IsUntouchedByAutocast) {
  Views views = test::correlated_views(300, 280, 23);
  views = {views.a.to(torch::kFloat32), views.b.to(torch::kFloat32)};
  const LossAndGradients expected = barlow_loss(views, options());
  // What LibTorch's own switch does; that one was renamed in 2.x.
  const auto key = c10::DispatchKey::AutocastCPU;
  c10::impl::tls_set_dispatch_key_excluded(key, false);
  const LossAndGradients actual = barlow_loss(views, options());
  const auto product_type = torch::mm(views.a, views.b.t()).scalar_type();
  c10::impl::tls_set_dispatch_key_excluded(key, true);
  EXPECT_EQ(product_type, torch::kBFloat16);  // it was in force
  EXPECT_TRUE(torch::equal(actual.total, expected.total));
  EXPECT_TRUE(torch::equal(actual.gradients.a, expected.gradients.a));
}

}  // namespace
}  // namespace barlow
