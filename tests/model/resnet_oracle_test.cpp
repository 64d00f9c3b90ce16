// SPDX-License-Identifier: MIT
//
// Against torchvision: tests/oracle/model.py.

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/model/initialize.h"
#include "barlow/model/named_state.h"
#include "barlow/model/resnet.h"
#include "model/oracle_values.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

struct Case {
  const char* file;
  ResNetOptions options;
};

// The variants are torchvision's network with scaled widths and a replaced
// first convolution and max-pool, the usual change for small images.
const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"resnet18", {.architecture = "resnet18"}},
      {"resnet50", {.architecture = "resnet50"}},
      {"small_grey",
       {.architecture = "resnet18",
        .stem = Stem::kSmall,
        .width_factor = 0.25,
        .in_channels = 1}},
      {"small_stride2",
       {.architecture = "resnet18",
        .stem = Stem::kSmallStride2,
        .width_factor = 0.25}},
      {"bottleneck", {.architecture = "resnet50", .width_factor = 0.125}},
      {"three_stages",
       {.architecture = "resnet18",
        .stem = Stem::kSmall,
        .blocks = {1, 2, 1},
        .width_factor = 0.25}}};
  return all;
}

class ResNetOracle : public testing::TestWithParam<std::size_t> {
 protected:
  static const Case& tested() { return cases().at(GetParam()); }
  static NamedTensors oracle() {
    return test::read_oracle(
        BARLOW_ORACLE_DIR,
        std::string(tested().file) + ".safetensors");
  }
};

TEST_P(ResNetOracle, EqualsTorchvisionInFloat64) {
  ResNet net(tested().options);
  test::expect_equals_oracle(
      net,
      oracle(),
      {torch::kFloat64, test::kFloat64Tolerance});
}

TEST_P(ResNetOracle, EqualsTorchvisionInFloat32) {
  ResNet net(tested().options);
  test::expect_equals_oracle(
      net,
      oracle(),
      {torch::kFloat32, test::kFloat32Tolerance});
}

TEST_P(ResNetOracle, EqualsTorchvisionChannelsLast) {
  ResNet net(tested().options);
  net->to_channels_last();
  test::expect_equals_oracle(
      net,
      oracle(),
      {torch::kFloat32, test::kOtherKernelsTolerance});
}

INSTANTIATE_TEST_SUITE_P(
    All,
    ResNetOracle,
    testing::Range(std::size_t{0}, cases().size()),
    [](const auto& parameter) { return cases().at(parameter.param).file; });

TEST(ResNet, RefusesTorchvisionsClassifierUnlessIgnored) {
  const NamedTensors state = test::without_prefix(
      test::read_oracle(BARLOW_ORACLE_DIR, "resnet18.safetensors"),
      "state/");
  ResNet net(ResNetOptions{.architecture = "resnet18"});
  EXPECT_THROW(load_state(*net, state), Error);
}

// Rows of the oracle: [position, dimensions, shape...].
template <class Named>
std::map<std::string, std::vector<std::int64_t>> rows_of(const Named& named) {
  std::map<std::string, std::vector<std::int64_t>> rows;
  std::int64_t position = 0;
  for (const auto& item : named) {
    std::vector<std::int64_t> row{position++, item.value().dim()};
    const auto shape = item.value().sizes();
    row.insert(row.end(), shape.begin(), shape.end());
    rows.emplace(item.key(), row);
  }
  return rows;
}

std::map<std::string, std::vector<std::int64_t>> rows_of_oracle(
    const std::string& prefix) {
  std::map<std::string, std::vector<std::int64_t>> rows;
  const NamedTensors shapes = test::without_prefix(
      test::read_oracle(BARLOW_ORACLE_DIR, "shapes.safetensors"),
      prefix);
  for (const auto& [name, row] : shapes) {
    const auto* values = row.data_ptr<std::int64_t>();
    rows.emplace(name, std::vector<std::int64_t>(values, values + row.numel()));
  }
  return rows;
}

TEST(ResNet, HasTorchvisionsNamesShapesAndOrder) {
  for (const std::string name :
       {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152"}) {
    ResNet net(ResNetOptions{.architecture = name});
    EXPECT_EQ(
        rows_of(net->named_parameters()),
        rows_of_oracle(name + "/parameters/"))
        << name;
    EXPECT_EQ(rows_of(net->named_buffers()), rows_of_oracle(name + "/buffers/"))
        << name;
  }
}

}  // namespace
}  // namespace barlow::model
