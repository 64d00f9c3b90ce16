// SPDX-License-Identifier: MIT

#include "barlow/model/named_state.h"

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/model/initialize.h"
#include "barlow/model/projector.h"

namespace barlow::model {
namespace {

Projector small_projector(std::uint64_t seed) {
  Projector projector(4, std::vector<std::int64_t>{3, 2});
  initialize_parameters(*projector, seed);
  return projector;
}

NamedTensors copy_of_state(const torch::nn::Module& module) {
  NamedTensors copies;
  for (const auto& [name, tensor] : named_state(module)) {
    copies.emplace(name, tensor.clone());
  }
  return copies;
}

std::string refusal(
    const NamedTensors& tensors,
    const LoadStateOptions& options = {.source = "w.safetensors"}) {
  Projector projector = small_projector(1);
  const NamedTensors before = copy_of_state(*projector);
  try {
    load_state(*projector, tensors, options);
  } catch (const Error& error) {
    for (const auto& [name, tensor] : named_state(*projector)) {
      EXPECT_TRUE(torch::equal(tensor, before.at(name))) << name;
    }
    return error.what();
  }
  return "";
}

TEST(NamedState, HoldsParametersAndBuffersOfTheModule) {
  Projector projector = small_projector(1);
  const NamedTensors state = named_state(*projector);
  std::string names;
  for (const auto& [name, tensor] : state) {
    names += name + " ";
    EXPECT_FALSE(tensor.requires_grad()) << name;
  }
  EXPECT_EQ(
      names,
      "0.weight 1.bias 1.num_batches_tracked 1.running_mean 1.running_var "
      "1.weight 3.weight ");
  EXPECT_EQ(count_parameters(*projector), 4 * 3 + 2 * 3 + 3 * 2);
}

TEST(LoadState, CopiesInPlace) {
  Projector projector = small_projector(1);
  const auto parameters = projector->parameters();
  const void* address = parameters.front().data_ptr();
  NamedTensors other = copy_of_state(*small_projector(2));
  other["1.num_batches_tracked"] = torch::tensor(std::int64_t{12});
  load_state(*projector, other);
  for (const auto& [name, tensor] : named_state(*projector)) {
    EXPECT_TRUE(torch::equal(tensor, other.at(name))) << name;
  }
  EXPECT_EQ(parameters.front().data_ptr(), address);
  EXPECT_TRUE(parameters.front().requires_grad());
}

TEST(LoadState, ConvertsFloatingPointTypes) {
  NamedTensors other = copy_of_state(*small_projector(2));
  other["0.weight"] = other["0.weight"].to(torch::kBFloat16);
  Projector projector = small_projector(1);
  load_state(*projector, other);
  const torch::Tensor loaded = projector->named_parameters()["0.weight"];
  EXPECT_EQ(loaded.scalar_type(), torch::kFloat32);
  EXPECT_TRUE(torch::equal(loaded, other["0.weight"].to(torch::kFloat32)));
}

TEST(LoadState, RefusesMissingNames) {
  NamedTensors state = copy_of_state(*small_projector(2));
  state.erase("1.bias");
  EXPECT_EQ(
      refusal(state),
      "w.safetensors: no tensor '1.bias', expected one of shape [3]");
  state.erase("3.weight");
  EXPECT_EQ(
      refusal(state),
      "w.safetensors: no tensor '1.bias', expected one of shape [3] (and 1 "
      "more missing)");
}

TEST(LoadState, RefusesUnexpectedNamesThatAreNotIgnored) {
  NamedTensors state = copy_of_state(*small_projector(2));
  state["fc.weight"] = torch::zeros({10, 2});
  state["fc.bias"] = torch::zeros({10});
  EXPECT_EQ(
      refusal(state),
      "w.safetensors: unexpected tensor 'fc.bias' of shape [10] (and 1 more "
      "unexpected)");
  EXPECT_EQ(refusal(state, {.ignore = {"fc.*"}}), "");
  EXPECT_EQ(refusal(state, {.ignore = {"fc.weight", "fc.bias"}}), "");
  EXPECT_EQ(
      refusal(state, {.ignore = {"fc.bias"}}),
      "state: unexpected tensor 'fc.weight' of shape [10, 2]");
  EXPECT_NE(refusal(state, {.ignore = {"fc"}}), "");
}

TEST(LoadState, RefusesOtherShapesAndTypes) {
  NamedTensors state = copy_of_state(*small_projector(2));
  state["3.weight"] = torch::zeros({3, 2});
  EXPECT_EQ(
      refusal(state),
      "w.safetensors: tensor '3.weight' has shape [3, 2], expected [2, 3]");
  state["3.weight"] = torch::zeros({2, 3}, torch::kInt64);
  EXPECT_EQ(
      refusal(state),
      "w.safetensors: tensor '3.weight' has type Long, expected Float");
}

}  // namespace
}  // namespace barlow::model
