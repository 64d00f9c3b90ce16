// SPDX-License-Identifier: MIT

#include "barlow/model/autocast.h"

#include <tuple>

#include <gtest/gtest.h>

#include "barlow/model/initialize.h"
#include "barlow/model/named_state.h"
#include "barlow/model/twins.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

BarlowTwins small_twins(torch::MemoryFormat format) {
  BarlowTwins twins(
      ResNetOptions{.architecture = "resnet18", .width_factor = 0.25},
      std::vector<std::int64_t>{64, 64});
  initialize_parameters(*twins, 1);
  if (format == torch::MemoryFormat::ChannelsLast) {
    twins->to_channels_last();
  }
  return twins;
}

torch::Tensor images() {
  return test::normal({16, 3, 64, 64}, 1).to(torch::kFloat32);
}

torch::Tensor lower_embed(BarlowTwins& twins, const torch::Tensor& x) {
  AutocastScope autocast(torch::kCPU, torch::kBFloat16);
  return twins->embed(x);
}

class Autocast : public testing::TestWithParam<torch::MemoryFormat> {};

// A value rounded to bfloat16 is off by 2^-9 / sqrt(3) = 1.1e-3 of itself in
// the root mean square. Between image and pooled features lie 17 convolutions,
// each with three rounded quantities (weight, input, result) whose errors are
// independent and, since batch norm follows, add in squares: 0.8 %. The
// projector's batch norm then takes away what these images' features have in
// common, most of them, which magnifies the rest: ten times is allowed.
constexpr double kForwardBound = 0.08;
// A pre-activation of unit variance that is off by d changes sign with
// probability d / pi, and each switched ReLU adds or drops a gradient where
// half of them pass: a squared error of 2 d / pi a layer, so for 18 ReLUs and
// d = 0.8 % sqrt(0.092) = 0.30. Twice that is allowed; a gradient of something
// else would be off by 1 to 1.4. tests/model/layers_test.cpp holds batch norm,
// the one mixed-type layer, to its rounding.
constexpr double kBackwardBound = 0.6;

TEST_P(Autocast, ForwardAndBackwardStayCloseToFloat32) {
  const torch::Tensor x = images();
  const torch::Tensor upstream = test::normal({16, 64}, 2).to(torch::kFloat32);
  BarlowTwins exact = small_twins(GetParam());
  const torch::Tensor expected = exact->embed(x);
  (expected * upstream).sum().backward();

  BarlowTwins twins = small_twins(GetParam());
  const torch::Tensor z = lower_embed(twins, x);
  EXPECT_EQ(z.scalar_type(), torch::kBFloat16);
  (z.to(torch::kFloat32) * upstream).sum().backward();

  const double error = test::relative_error(z, expected);
  EXPECT_LT(error, kForwardBound);
  EXPECT_GT(error, 1e-4) << "computed in float32 after all";
  auto parameters = exact->named_parameters();
  for (const auto& item : twins->named_parameters()) {
    EXPECT_EQ(item.value().scalar_type(), torch::kFloat32) << item.key();
    EXPECT_EQ(item.value().grad().scalar_type(), torch::kFloat32);
    EXPECT_LT(
        test::relative_error(
            item.value().grad(),
            parameters[item.key()].grad()),
        kBackwardBound)
        << item.key();
  }
  const NamedTensors reference = named_state(*exact);
  for (const auto& [name, tensor] : named_state(*twins)) {
    EXPECT_EQ(tensor.scalar_type(), reference.at(name).scalar_type()) << name;
    if (name.ends_with("running_var")) {
      EXPECT_LT(test::relative_error(tensor, reference.at(name)), kForwardBound)
          << name;
    }
  }
}

TEST_P(Autocast, KeepsTheMemoryFormat) {
  BarlowTwins twins = small_twins(GetParam());
  AutocastScope autocast(torch::kCPU, torch::kBFloat16);
  const torch::Tensor map = twins->backbone()->feature_map(images());
  EXPECT_EQ(map.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(map.suggest_memory_format(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    Formats,
    Autocast,
    testing::Values(
        torch::MemoryFormat::Contiguous,
        torch::MemoryFormat::ChannelsLast),
    [](const auto& parameter) {
      return parameter.param == torch::MemoryFormat::Contiguous
                 ? "Contiguous"
                 : "ChannelsLast";
    });

torch::Dtype product_type() {
  const torch::Tensor one = torch::ones({2, 2});
  return one.mm(one).scalar_type();
}

TEST(AutocastScope, EndsWithItsScopeAndNests) {
  EXPECT_EQ(product_type(), torch::kFloat32);
  {
    AutocastScope outer(torch::kCPU, torch::kBFloat16);
    EXPECT_EQ(product_type(), torch::kBFloat16);
    {
      AutocastScope inner(torch::kCPU, torch::kBFloat16);
      EXPECT_EQ(product_type(), torch::kBFloat16);
    }
    EXPECT_EQ(product_type(), torch::kBFloat16);
  }
  EXPECT_EQ(product_type(), torch::kFloat32);
}

TEST(AutocastScope, SeesWeightsThatChangedSinceTheLastScope) {
  Linear linear(2, 1, Bias::kNone);
  const torch::Tensor x = torch::ones({1, 2});
  const auto product = [&] {
    AutocastScope autocast(torch::kCPU, torch::kBFloat16);
    return linear->forward(x).item<float>();
  };
  {
    torch::NoGradGuard no_grad;
    linear->weight.fill_(1);
  }
  EXPECT_EQ(product(), 2);
  {
    torch::NoGradGuard no_grad;
    linear->weight.fill_(3);
  }
  EXPECT_EQ(product(), 6);
}

TEST(AutocastScope, EndsWhenAnExceptionPasses) {
  Linear linear(2, 1, Bias::kNone);
  EXPECT_ANY_THROW({
    AutocastScope autocast(torch::kCPU, torch::kBFloat16);
    linear->forward(torch::ones({1, 3}));
  });
  EXPECT_EQ(product_type(), torch::kFloat32);
}

TEST(AutocastScope, RefusesWhatTheDeviceDoesNotHave) {
  EXPECT_THROW(AutocastScope(torch::kCPU, torch::kFloat16), c10::ValueError);
  EXPECT_THROW(AutocastScope(torch::kCPU, torch::kFloat32), c10::ValueError);
  EXPECT_THROW(AutocastScope(torch::kXLA, torch::kBFloat16), c10::ValueError);
  EXPECT_EQ(product_type(), torch::kFloat32);
}

}  // namespace
}  // namespace barlow::model
