// SPDX-License-Identifier: MIT

#include "barlow/model/twins.h"

#include <gtest/gtest.h>

#include "barlow/model/initialize.h"
#include "barlow/model/named_state.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

BarlowTwins small_twins() {
  BarlowTwins twins(
      ResNetOptions{
          .architecture = "resnet18",
          .stem = Stem::kSmall,
          .width_factor = 0.125},
      std::vector<std::int64_t>{48, 32});
  initialize_parameters(*twins, 1);
  return twins;
}

// Views of unlike brightness and contrast, as augmentation makes them.
torch::Tensor view(std::uint64_t seed, double shift, double scale) {
  return (test::normal({6, 3, 16, 16}, seed) * scale + shift)
      .to(torch::kFloat32);
}

void expect_same_state(
    const torch::nn::Module& actual,
    const torch::nn::Module& expected) {
  const NamedTensors reference = named_state(expected);
  for (const auto& [name, tensor] : named_state(actual)) {
    EXPECT_TRUE(torch::equal(tensor, reference.at(name))) << name;
  }
}

TEST(BarlowTwins, RunsEachViewInAPassOfItsOwn) {
  const torch::Tensor a = view(1, 0, 1);
  const torch::Tensor b = view(2, 1, 0.5);
  BarlowTwins twins = small_twins();
  const auto [z_a, z_b] = twins->forward(a, b);
  EXPECT_EQ(z_a.sizes(), (std::vector<std::int64_t>{6, 32}));

  BarlowTwins separate = small_twins();
  EXPECT_TRUE(torch::equal(z_a, separate->embed(a)));
  EXPECT_TRUE(torch::equal(z_b, separate->embed(b)));
  expect_same_state(*twins, *separate);  // running statistics moved twice
  EXPECT_EQ(
      named_state(*twins)
          .at("backbone.bn1.num_batches_tracked")
          .item<std::int64_t>(),
      2);

  BarlowTwins joint = small_twins();
  const torch::Tensor z = joint->embed(torch::cat({a, b}));
  EXPECT_GT(test::relative_error(z.slice(0, 0, 6), z_a), 0.1);
}

TEST(BarlowTwins, InEvaluationModePassesCanBeJoined) {
  torch::NoGradGuard no_grad;
  BarlowTwins twins = small_twins();
  twins->eval();
  const torch::Tensor a = view(1, 0, 1);
  const torch::Tensor b = view(2, 1, 0.5);
  const auto [z_a, z_b] = twins->forward(a, b);
  const torch::Tensor z = twins->embed(torch::cat({a, b}));
  EXPECT_LT(test::relative_error(z, torch::cat({z_a, z_b})), 1e-5);
}

TEST(BarlowTwins, SumsBothViewsGradientsInTheSharedParameters) {
  const torch::Tensor a = view(1, 0, 1);
  const torch::Tensor b = view(2, 1, 0.5);
  const torch::Tensor up_a = test::normal({6, 32}, 3).to(torch::kFloat32);
  const torch::Tensor up_b = test::normal({6, 32}, 4).to(torch::kFloat32);
  const auto gradient = [&](const torch::Tensor& x, const torch::Tensor& up) {
    BarlowTwins twins = small_twins();
    (twins->embed(x) * up).sum().backward();
    return twins->named_parameters()["backbone.conv1.weight"].grad();
  };
  BarlowTwins twins = small_twins();
  const auto [z_a, z_b] = twins->forward(a, b);
  ((z_a * up_a).sum() + (z_b * up_b).sum()).backward();
  for (const auto& item : twins->named_parameters()) {
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
  EXPECT_LT(
      test::relative_error(
          twins->named_parameters()["backbone.conv1.weight"].grad(),
          gradient(a, up_a) + gradient(b, up_b)),
      1e-5);
}

TEST(BarlowTwins, NamesPartsAndSharesThemThroughHandles) {
  BarlowTwins twins = small_twins();
  const NamedTensors state = named_state(*twins);
  EXPECT_TRUE(state.contains("backbone.layer4.1.bn2.running_var"));
  EXPECT_TRUE(state.contains("projector.3.weight"));
  EXPECT_EQ(twins->embedding_dim(), 32);
  torch::NoGradGuard no_grad;
  twins->backbone()->named_parameters()["conv1.weight"].fill_(2);
  EXPECT_EQ(state.at("backbone.conv1.weight").min().item<float>(), 2);
}

}  // namespace
}  // namespace barlow::model
