// SPDX-License-Identifier: MIT

#include "barlow/eval/features.h"

#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "barlow/core/error.h"
#include "barlow/eval/frozen_module.h"
#include "support/tensors.h"

namespace barlow::eval {
namespace {

constexpr std::int64_t kImages = 10;

torch::Tensor images() {
  return test::normal({kImages, 1, 2, 3}, 1).to(torch::kFloat32);
}

// Batches of 4, 4 and 2.
BatchSource source() {
  return
      [next = std::int64_t{0}]() mutable -> std::optional<data::LabelledBatch> {
        if (next == kImages) {
          return std::nullopt;
        }
        const std::int64_t rows = std::min<std::int64_t>(4, kImages - next);
        data::LabelledBatch batch{
            images().narrow(0, next, rows),
            torch::arange(kImages).narrow(0, next, rows)};
        next += rows;
        return batch;
      };
}

torch::Tensor flatten(const torch::Tensor& x) {
  return x.flatten(1);
}

// A scale, and in training mode a running mean, like batch norm's; a child to
// hold a mode of its own.
class Toy : public torch::nn::Module {
 public:
  Toy() {
    scale = register_parameter("scale", torch::full({1}, 2.0F));
    running = register_buffer("running", torch::zeros({6}));
    child = register_module("child", std::make_shared<torch::nn::Module>());
  }

  torch::Tensor forward(const torch::Tensor& x) {
    const torch::Tensor flat = x.flatten(1);
    if (is_training()) {
      running.copy_(flat.mean(0));
    }
    return flat * scale;
  }

  torch::Tensor scale;
  torch::Tensor running;
  std::shared_ptr<torch::nn::Module> child;
};

// What `action` threw as Error, or "".
template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ExtractFeatures, KeepsTheOrderOverBatchesOfAnySize) {
  const Features features = extract_features(flatten, source(), kImages);
  EXPECT_TRUE(torch::equal(features.features, images().flatten(1)));
  EXPECT_TRUE(torch::equal(features.labels, torch::arange(kImages)));
  EXPECT_NO_THROW(check_features("test", features));
}

TEST(ExtractFeatures, ConvertsToFloat32AndBuildsNoGraph) {
  const torch::Tensor weight = torch::ones({1}).requires_grad_();
  const Features features = extract_features(
      [&](const torch::Tensor& x) {
        return (x.flatten(1) * weight).to(torch::kBFloat16);
      },
      source(),
      kImages);
  EXPECT_EQ(features.features.scalar_type(), torch::kFloat32);
  EXPECT_FALSE(features.features.requires_grad());
}

TEST(ExtractFeatures, RefusesAnotherNumberOfImagesThanAnnounced) {
  EXPECT_THROW((void)extract_features(flatten, source(), 9), Error);
  EXPECT_THROW((void)extract_features(flatten, source(), 11), Error);
  EXPECT_THROW((void)extract_features(flatten, source(), 0), c10::ValueError);
}

TEST(ExtractFeatures, RefusesAnEncoderThatReturnsAnythingElse) {
  const auto expect_refused = [](const Encoder& encoder) {
    EXPECT_THROW(
        (void)extract_features(encoder, source(), kImages),
        c10::ValueError);
  };
  expect_refused([](const torch::Tensor& x) { return x; });
  expect_refused([](const torch::Tensor& x) { return x.flatten(1)[0]; });
  expect_refused([](const torch::Tensor& x) { return x.flatten(1).t(); });
  expect_refused(
      [](const torch::Tensor& x) { return x.flatten(1).to(torch::kInt64); });
  // The last batch is of 2.
  expect_refused([](const torch::Tensor& x) {
    return torch::zeros({x.size(0), x.size(0)});
  });
}

TEST(ExtractFrozenFeatures, RunsInEvaluationModeAndRestoresEachMode) {
  const auto toy = std::make_shared<Toy>();
  toy->child->eval();
  const Features features = extract_frozen_features(
      *toy,
      [&](const torch::Tensor& x) {
        EXPECT_FALSE(toy->is_training());
        return toy->forward(x);
      },
      source(),
      kImages);
  EXPECT_TRUE(torch::equal(features.features, images().flatten(1) * 2));
  EXPECT_EQ(toy->running.abs().sum().item<float>(), 0.0F);
  EXPECT_TRUE(toy->is_training());
  EXPECT_FALSE(toy->child->is_training());
}

TEST(ExtractFrozenFeatures, RestoresTheModeAfterAnException) {
  const auto toy = std::make_shared<Toy>();
  EXPECT_ANY_THROW((void)extract_frozen_features(
      *toy,
      [](const torch::Tensor&) -> torch::Tensor {
        throw std::runtime_error("out of memory");
      },
      source(),
      kImages));
  EXPECT_TRUE(toy->is_training());
  EXPECT_TRUE(toy->child->is_training());
}

TEST(ExtractFrozenFeatures, FindsAnEncoderThatUpdatesABuffer) {
  const auto toy = std::make_shared<Toy>();
  const std::string message = error_of([&] {
    (void)extract_frozen_features(
        *toy,
        [&](const torch::Tensor& x) {
          toy->running.add_(1e-6);
          return toy->forward(x);
        },
        source(),
        kImages);
  });
  EXPECT_NE(message.find("buffer running"), std::string::npos) << message;
}

TEST(FrozenModule, FindsTheChangeOfASingleBit) {
  const auto toy = std::make_shared<Toy>();
  const FrozenModule frozen(*toy);
  EXPECT_NO_THROW(frozen.check_unchanged());
  torch::NoGradGuard no_grad;
  // From 0 to -0: equal as numbers.
  toy->running[5] = -0.0F;
  EXPECT_NE(
      error_of([&] { frozen.check_unchanged(); }).find("buffer running"),
      std::string::npos);
  toy->running.zero_();
  EXPECT_NO_THROW(frozen.check_unchanged());
  toy->scale.add_(1);
  EXPECT_NE(
      error_of([&] { frozen.check_unchanged(); }).find("parameter scale"),
      std::string::npos);
}

TEST(FrozenModule, FindsASubmoduleThatLeftEvaluationMode) {
  const auto toy = std::make_shared<Toy>();
  const FrozenModule frozen(*toy);
  toy->child->train();
  EXPECT_NE(
      error_of([&] { frozen.check_unchanged(); }).find("training mode"),
      std::string::npos);
}

TEST(CheckFeatures, NamesTheFirstBadRow) {
  Features features{torch::zeros({5, 3}), torch::zeros({5}, torch::kInt64)};
  features.features[3][1] = std::nan("");
  std::string message = error_of([&] { check_features("bank", features); });
  EXPECT_EQ(message.rfind("bank: the features of image 3 ", 0), 0u) << message;
  features.features[1][0] = INFINITY;
  message = error_of([&] { check_features("bank", features); });
  EXPECT_NE(message.find("image 1 "), std::string::npos) << message;
  features.features.zero_();
  features.labels[2] = -1;
  message = error_of([&] { check_features("bank", features); });
  EXPECT_EQ(message.rfind("bank: image 2 has no label", 0), 0u) << message;
}

TEST(CheckFeatures, RefusesOtherShapesAndTypes) {
  const auto labels = torch::zeros({5}, torch::kInt64);
  const auto expect_refused = [](const Features& features) {
    EXPECT_THROW(check_features("test", features), c10::ValueError);
  };
  expect_refused({});
  expect_refused({torch::zeros({5}), labels});
  expect_refused({torch::zeros({5, 0}), labels});
  expect_refused({torch::zeros({5, 3}, torch::kFloat64), labels});
  expect_refused({torch::zeros({3, 5}).t(), labels});
  expect_refused({torch::zeros({4, 3}), labels});
  expect_refused({torch::zeros({5, 3}), labels.to(torch::kInt32)});
}

TEST(CheckClasses, NamesWhatAClassifierCannotUse) {
  const auto labelled = [](const torch::Tensor& labels) {
    return Features{torch::ones({labels.size(0), 1}), labels};
  };
  const Features two = labelled(torch::tensor({0, 2, 0}, torch::kInt64));
  const Features one = labelled(torch::tensor({1, 1}, torch::kInt64));
  const Features beyond = labelled(torch::tensor({0, 3, 4}, torch::kInt64));
  EXPECT_EQ(check_classes("k-NN", two, one), 3);
  const auto refusal = [](const Features& train, const Features& test) {
    try {
      check_classes("k-NN", train, test);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(
      refusal(one, one),
      "k-NN: all training images have the label 1, expected at least two "
      "classes");
  EXPECT_EQ(
      refusal(two, beyond),
      "k-NN: test image 1 has the label 3, expected at most 2, the largest of "
      "the training images");
}

}  // namespace
}  // namespace barlow::eval
