// SPDX-License-Identifier: MIT

#include "barlow/model/layers.h"

#include <vector>

#include <gtest/gtest.h>

#include "barlow/model/initialize.h"
#include "support/tensors.h"

namespace barlow::model {
namespace {

// Batch normalisation by its formula, in float64, over all but dimension 1.
torch::Tensor formula(
    const torch::Tensor& x,
    const torch::Tensor& weight,
    const torch::Tensor& bias) {
  const std::vector<std::int64_t> over =
      x.dim() == 4 ? std::vector<std::int64_t>{0, 2, 3}
                   : std::vector<std::int64_t>{0};
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = x.size(1);
  const torch::Tensor centred = x - x.mean(over, /*keepdim=*/true);
  const torch::Tensor variance = centred.square().mean(over, true);
  return centred / (variance + 1e-5).sqrt() * weight.view(shape) +
         bias.view(shape);
}

struct BatchNormCase {
  std::vector<std::int64_t> shape;
  torch::MemoryFormat format;
};

class MixedBatchNorm : public testing::TestWithParam<BatchNormCase> {};

// bfloat16 activations, float32 parameters and statistics. The reference takes
// the same rounded x and upstream gradient, so results that are returned in
// bfloat16 differ by their own rounding, 2^-9 each and less in the norm, and
// float32 sums over 4000 terms by far less.
TEST_P(MixedBatchNorm, EqualsTheFormulaForwardAndBackward) {
  const auto& [shape, format] = GetParam();
  BatchNorm norm(BatchNormOptions{.features = shape[1]});
  {
    torch::NoGradGuard no_grad;
    norm->weight.copy_(test::normal({shape[1]}, 1));
    norm->bias.copy_(test::normal({shape[1]}, 2));
  }
  torch::Tensor x = (test::normal(shape, 3) * 2 + 1)
                        .to(torch::kBFloat16)
                        .contiguous(format)
                        .requires_grad_();
  const torch::Tensor upstream =
      test::normal(shape, 4).to(torch::kBFloat16).contiguous(format);
  const torch::Tensor y = norm->forward(x);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(y.is_contiguous(format));
  y.backward(upstream);

  const auto leaf = [](const torch::Tensor& t) {
    return t.detach().to(torch::kFloat64).requires_grad_();
  };
  const torch::Tensor exact_x = leaf(x);
  const torch::Tensor weight = leaf(norm->weight);
  const torch::Tensor bias = leaf(norm->bias);
  const torch::Tensor expected = formula(exact_x, weight, bias);
  expected.backward(upstream.to(torch::kFloat64));

  constexpr double kRounding = 1.0 / 512;
  EXPECT_LT(test::relative_error(y, expected), kRounding);
  EXPECT_LT(test::relative_error(x.grad(), exact_x.grad()), kRounding);
  EXPECT_EQ(norm->weight.grad().scalar_type(), torch::kFloat32);
  EXPECT_LT(test::relative_error(norm->weight.grad(), weight.grad()), 1e-5);
  EXPECT_LT(test::relative_error(norm->bias.grad(), bias.grad()), 1e-5);

  const torch::Tensor flat =
      exact_x.detach().transpose(0, 1).reshape({shape[1], -1});
  EXPECT_LT(test::relative_error(norm->running_mean, 0.1 * flat.mean(1)), 1e-5);
  EXPECT_LT(
      test::relative_error(
          norm->running_var,
          0.9 + 0.1 * flat.var(1, /*unbiased=*/true)),
      1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes,
    MixedBatchNorm,
    testing::Values(
        BatchNormCase{{64, 24}, torch::MemoryFormat::Contiguous},
        BatchNormCase{{16, 24, 16, 16}, torch::MemoryFormat::Contiguous},
        BatchNormCase{{16, 24, 16, 16}, torch::MemoryFormat::ChannelsLast}));

TEST(BatchNorm, KeepsAnIntegerCountWhenConverted) {
  BatchNorm norm(BatchNormOptions{.features = 2});
  norm->num_batches_tracked.fill_(1'000'001);
  norm->to(torch::kBFloat16);
  EXPECT_EQ(norm->weight.scalar_type(), torch::kBFloat16);
  norm->to(torch::kCPU, torch::kFloat32);
  EXPECT_EQ(norm->weight.scalar_type(), torch::kFloat32);
  EXPECT_EQ(norm->num_batches_tracked.scalar_type(), torch::kInt64);
  EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 1'000'001);
}

TEST(BatchNorm, CountsTrainingPassesOnly) {
  BatchNorm norm(BatchNormOptions{.features = 2});
  const torch::Tensor x = test::normal({4, 2}, 1).to(torch::kFloat32);
  norm->forward(x);
  norm->eval();
  norm->forward(x);
  EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 1);
}

TEST(Layers, RefuseWrongOptions) {
  EXPECT_THROW(Convolution(ConvolutionOptions{1, 1, 2}), c10::ValueError);
  EXPECT_THROW(Convolution(ConvolutionOptions{0, 1}), c10::ValueError);
  EXPECT_THROW(Convolution(ConvolutionOptions{1, 1, 1, 0}), c10::ValueError);
  EXPECT_THROW(BatchNorm(BatchNormOptions{}), c10::ValueError);
  EXPECT_THROW(Linear(0, 1, Bias::kNone), c10::ValueError);
}

TEST(Linear, WithBiasIsAffine) {
  Linear linear(3, 2, Bias::kLearned);
  initialize_parameters(*linear, 1);
  const torch::Tensor x = test::normal({4, 3}, 1).to(torch::kFloat32);
  const torch::Tensor expected = x.mm(linear->weight.t()) + linear->bias;
  EXPECT_LT(test::relative_error(linear->forward(x), expected), 1e-6);
}

}  // namespace
}  // namespace barlow::model
