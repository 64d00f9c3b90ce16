// SPDX-License-Identifier: MIT

#include "barlow/model/resnet.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/model/initialize.h"
#include "barlow/model/named_state.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

std::string message_of(const ResNetOptions& options) {
  try {
    validate(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ResNetOptions, AreRefusedByName) {
  EXPECT_EQ(message_of({}), "");
  EXPECT_EQ(
      message_of({.architecture = "resnet5"}),
      "architecture: found 'resnet5', expected one of resnet18, resnet34, "
      "resnet50, resnet101, resnet152; did you mean resnet50?");
  EXPECT_EQ(
      message_of({.width_factor = 0}),
      "width_factor: found 0, expected a number in [1/64, 64]");
  EXPECT_NE(
      message_of({.width_factor = std::numeric_limits<double>::quiet_NaN()}),
      "");
  EXPECT_EQ(
      message_of({.in_channels = 2}),
      "in_channels: found 2, expected 1 (grey) or 3 (colour)");
  EXPECT_THROW(ResNet(ResNetOptions{.architecture = "vgg"}), UsageError);
}

TEST(ResNetOptions, RefuseStagesThatCannotBe) {
  EXPECT_EQ(message_of({.blocks = {1, 64, 1, 1}}), "");
  EXPECT_EQ(
      message_of({.blocks = {1, 0}}),
      "blocks: found 1-0, expected 1 to 4 stages of 1 to 64 blocks, such as "
      "1-1-1");
  EXPECT_NE(message_of({.blocks = {65}}), "");
  EXPECT_NE(message_of({.blocks = {1, 1, 1, 1, 1}}), "");
}

TEST(ParseBlocks, ReadsIntegersJoinedByDashes) {
  using Blocks = std::vector<std::int64_t>;
  EXPECT_EQ(parse_blocks(""), Blocks{});
  EXPECT_EQ(parse_blocks("3"), Blocks{3});
  EXPECT_EQ(parse_blocks("3-4-23-3"), (Blocks{3, 4, 23, 3}));
  for (const char* text :
       {"-", "1-", "-1", "1--1", "x", "1-x", "1.5", " 1", "1 ", "1,1"}) {
    EXPECT_THROW(static_cast<void>(parse_blocks(text)), UsageError) << text;
  }
}

TEST(ResNet, CountsParametersAsPublished) {
  // torchvision's 11,689,512 and 25,557,032 less the classifier's
  // 512 x 1000 + 1000 and 2048 x 1000 + 1000.
  EXPECT_EQ(
      count_parameters(*ResNet(ResNetOptions{.architecture = "resnet18"})),
      11'176'512);
  EXPECT_EQ(count_parameters(*ResNet(ResNetOptions{})), 23'508'032);
}

TEST(ResNet, RoundsScaledWidthsToNearestHalvesUpAndAtLeastOne) {
  // 64, 128, 256, 512 times 3/128: 1.5, 3, 6, 12.
  ResNet halves(
      ResNetOptions{.architecture = "resnet18", .width_factor = 3.0 / 128});
  auto parameters = halves->named_parameters();
  EXPECT_EQ(parameters["conv1.weight"].size(0), 2);
  EXPECT_EQ(parameters["layer2.0.conv1.weight"].size(0), 3);
  EXPECT_EQ(halves->feature_dim(), 12);

  // Times 0.018: 1.152, 2.304, 4.608, 9.216; a bottleneck returns 4 x 9.
  ResNet narrow(
      ResNetOptions{.architecture = "resnet50", .width_factor = 0.018});
  parameters = narrow->named_parameters();
  EXPECT_EQ(parameters["layer1.0.conv1.weight"].size(0), 1);
  EXPECT_EQ(parameters["layer2.0.conv1.weight"].size(0), 2);
  EXPECT_EQ(parameters["layer3.0.conv1.weight"].size(0), 5);
  EXPECT_EQ(narrow->feature_dim(), 36);

  ResNet wide(ResNetOptions{.architecture = "resnet18", .width_factor = 1.5});
  EXPECT_EQ(wide->feature_dim(), 768);
}

ResNet small_net(ResNetOptions options) {
  options.architecture = "resnet18";
  options.width_factor = 0.125;
  ResNet net(options);
  initialize_parameters(*net, 1);
  return net;
}

TEST(ResNet, DividesTheImageByTheStemsStride) {
  torch::NoGradGuard no_grad;
  const torch::Tensor images =
      test::normal({2, 3, 65, 40}, 1).to(torch::kFloat32);
  const auto map_size = [&](Stem stem) {
    return small_net({.stem = stem})->feature_map(images).sizes().vec();
  };
  EXPECT_EQ(
      map_size(Stem::kImageNet),
      (std::vector<std::int64_t>{2, 64, 3, 2}));
  EXPECT_EQ(map_size(Stem::kSmall), (std::vector<std::int64_t>{2, 64, 9, 5}));
  EXPECT_EQ(
      map_size(Stem::kSmallStride2),
      (std::vector<std::int64_t>{2, 64, 5, 3}));
}

TEST(ResNet, KeepsActivationsChannelsLast) {
  for (const std::int64_t channels : {1, 3}) {
    ResNet net = small_net({.in_channels = channels});
    const torch::Tensor images =
        test::normal({2, channels, 96, 96}, 1).to(torch::kFloat32);
    EXPECT_FALSE(net->feature_map(images).is_contiguous(
        torch::MemoryFormat::ChannelsLast));
    net->to_channels_last();
    const torch::Tensor map = net->feature_map(images);
    EXPECT_EQ(map.suggest_memory_format(), torch::MemoryFormat::ChannelsLast);
    EXPECT_TRUE(map.is_contiguous(torch::MemoryFormat::ChannelsLast));
    for (const torch::Tensor& parameter : net->parameters()) {
      if (parameter.dim() == 4 && parameter.size(1) > 1) {
        EXPECT_EQ(
            parameter.suggest_memory_format(),
            torch::MemoryFormat::ChannelsLast)
            << parameter.sizes();
      }
      EXPECT_TRUE(parameter.requires_grad() && parameter.is_leaf());
    }
  }
}

TEST(ResNet, InEvaluationModeChangesNothingAndTreatsImagesAlone) {
  torch::NoGradGuard no_grad;
  ResNet net = small_net({});
  net->eval();
  NamedTensors before;
  for (const auto& [name, tensor] : named_state(*net)) {
    before.emplace(name, tensor.clone());
  }
  const torch::Tensor images =
      test::normal({3, 3, 64, 64}, 1).to(torch::kFloat32);
  const torch::Tensor all = net->forward(images);
  // Another batch size may take another summation order in a convolution.
  EXPECT_LT(
      test::relative_error(
          net->forward(images.slice(0, 1, 2)),
          all.slice(0, 1, 2)),
      1e-6);
  for (const auto& [name, tensor] : named_state(*net)) {
    EXPECT_TRUE(torch::equal(tensor, before.at(name))) << name;
  }
}

TEST(ResNet, WithZeroInitResidualBeginsAsItsStemAndShortcuts) {
  ResNet net = small_net({.zero_init_residual = true});
  auto parameters = net->named_parameters();
  EXPECT_EQ(parameters["layer1.0.bn2.weight"].abs().max().item<float>(), 0);
  EXPECT_EQ(parameters["layer1.0.bn1.weight"].min().item<float>(), 1);
  EXPECT_EQ(parameters["layer2.0.downsample.1.weight"].min().item<float>(), 1);

  ResNet deep(ResNetOptions{
      .architecture = "resnet50",
      .width_factor = 0.125,
      .zero_init_residual = true});
  initialize_parameters(*deep, 1);
  parameters = deep->named_parameters();
  EXPECT_EQ(parameters["layer1.0.bn3.weight"].abs().max().item<float>(), 0);
  EXPECT_EQ(parameters["layer1.0.bn2.weight"].min().item<float>(), 1);
}

TEST(ResNet, IsNotANumberUntilInitialised) {
  ResNet net(ResNetOptions{.architecture = "resnet18", .width_factor = 0.125});
  const torch::Tensor features = net->forward(torch::zeros({2, 3, 32, 32}));
  EXPECT_TRUE(features.isnan().all().item<bool>());
}

TEST(ResNet, RefusesWrongImages) {
  ResNet net = small_net({});
  EXPECT_THROW(net->forward(torch::zeros({2, 1, 32, 32})), c10::ValueError);
  EXPECT_THROW(net->forward(torch::zeros({3, 32, 32})), c10::ValueError);
  // One image of one position at the last stage has no variance.
  EXPECT_THROW(net->forward(torch::zeros({1, 3, 32, 32})), c10::ValueError);
}

}  // namespace
}  // namespace barlow::model
