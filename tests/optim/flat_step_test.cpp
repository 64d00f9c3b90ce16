// SPDX-License-Identifier: MIT
//
// Float32 parameters on the CPU are updated by kernels, all others by
// operations of LibTorch: float64 here, and parameters with gaps in their
// memory.

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "barlow/optim/adamw.h"
#include "barlow/optim/lars.h"
#include "barlow/optim/sgd.h"
#include "optim/flat_parameter.h"
#include "optim/kernels.h"
#include "support/tensors.h"

namespace barlow::optim {
namespace {

constexpr LearningRates kRates{.weights = 0.1, .biases = 0.02};

struct Case {
  std::string name;
  std::function<std::unique_ptr<Optimizer>(const ParameterGroups&)> make;
};

void PrintTo(const Case& c, std::ostream* stream) {
  *stream << c.name;
}

template <class Optimiser, class Options>
Case optimiser(const std::string& name, const Options& options) {
  return {name, [options](const ParameterGroups& groups) {
            return std::make_unique<Optimiser>(groups, options);
          }};
}

// Where a tensor's numbers lie.
enum class Memory { kContiguous, kChannelsLast, kWithGaps };

torch::Tensor placed(const torch::Tensor& x, Memory memory) {
  switch (memory) {
    case Memory::kChannelsLast:
      if (x.dim() == 4) {
        return x.contiguous(torch::MemoryFormat::ChannelsLast);
      }
      return x.contiguous();
    case Memory::kWithGaps:
      return torch::stack({x, torch::full_like(x, 7)}, -1).select(-1, 0);
    case Memory::kContiguous:
      break;
  }
  return x.contiguous();
}

// One of each: a whole number of chunks, of blocks of 512, a bit more and less
// than those, single numbers, none.
const std::vector<std::vector<std::int64_t>>& shapes() {
  static const std::vector<std::vector<std::int64_t>> all{
      {2, kChunkSize},
      {3, kChunkSize / 2 + 5},
      {1, 512},
      {7, 73},
      {1, 513},
      {5, 6, 3, 3},
      {4, 8, 1, 1},
      {1, 1},
      {0, 3},
      {kChunkSize + 1},
      {17},
      {1},
      {0}};
  return all;
}

struct Setting {
  torch::ScalarType type = torch::kFloat32;
  Memory parameters = Memory::kContiguous;
  Memory gradients = Memory::kContiguous;
};

std::vector<torch::Tensor> after_three_steps(
    const Case& c,
    const Setting& setting) {
  std::vector<NamedParameter> parameters;
  for (std::size_t i = 0; i < shapes().size(); ++i) {
    const torch::Tensor start =
        test::normal(shapes()[i], i).to(torch::kFloat32).to(setting.type);
    parameters.push_back(
        {std::to_string(i),
         placed(start, setting.parameters).requires_grad_()});
  }
  const auto optimizer = c.make(group_parameters(parameters));
  for (std::uint64_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const torch::Tensor gradient =
          test::normal(shapes()[i], 100 * (step + 1) + i)
              .to(torch::kFloat32)
              .to(setting.type);
      parameters[i].tensor.mutable_grad() = placed(gradient, setting.gradients);
    }
    optimizer->step(kRates);
  }
  std::vector<torch::Tensor> results;
  for (const NamedParameter& parameter : parameters) {
    results.push_back(parameter.tensor.detach());
  }
  for (const auto& [name, tensor] : optimizer->state()) {
    results.push_back(tensor);
  }
  return results;
}

void expect_same_bits(
    const std::vector<torch::Tensor>& a,
    const std::vector<torch::Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(torch::equal(a[i], b[i])) << "tensor " << i;
  }
}

class FlatStep : public testing::TestWithParam<Case> {
 protected:
  void TearDown() override { at::set_num_threads(threads_); }

 private:
  int threads_ = at::get_num_threads();
};

// A step rounds a number about ten times and a ratio of norms fourteen; three
// steps less than 100 times, 100 x 2^-24.
constexpr double kFloat32Tolerance = 6e-6;

TEST_P(FlatStep, EqualsOperationsOfLibTorch) {
  const auto exact = after_three_steps(GetParam(), {torch::kFloat64});
  const auto kernels = after_three_steps(GetParam(), {});
  const auto operations = after_three_steps(
      GetParam(),
      {.parameters = Memory::kWithGaps, .gradients = Memory::kWithGaps});
  ASSERT_EQ(kernels.size(), exact.size());
  ASSERT_EQ(operations.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LT(test::relative_error(kernels[i], exact[i]), kFloat32Tolerance)
        << "tensor " << i;
    EXPECT_LT(test::relative_error(operations[i], exact[i]), kFloat32Tolerance)
        << "tensor " << i;
  }
}

TEST_P(FlatStep, DoesNotDependOnTheNumberOfThreads) {
  at::set_num_threads(1);
  const auto one = after_three_steps(GetParam(), {});
  for (const int threads : {2, 3}) {
    at::set_num_threads(threads);
    expect_same_bits(after_three_steps(GetParam(), {}), one);
  }
}

TEST_P(FlatStep, TakesGradientsInAnyOrderOfMemory) {
  for (const Memory parameters : {Memory::kContiguous, Memory::kChannelsLast}) {
    const auto expected = after_three_steps(
        GetParam(),
        {.parameters = parameters, .gradients = parameters});
    for (const Memory gradients :
         {Memory::kContiguous, Memory::kChannelsLast, Memory::kWithGaps}) {
      expect_same_bits(
          after_three_steps(
              GetParam(),
              {.parameters = parameters, .gradients = gradients}),
          expected);
    }
  }
}

TEST_P(FlatStep, IsSeenByGraphsThatNeedTheOldValues) {
  const torch::Tensor p = torch::ones({2, 2}).requires_grad_();
  const torch::Tensor loss = p.square().sum();
  p.mutable_grad() = torch::ones({2, 2});
  GetParam()
      .make(group_parameters(std::vector<NamedParameter>{{"p", p}}))
      ->step(kRates);
  EXPECT_THROW(loss.backward(), c10::Error);
}

std::string label(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Each,
    FlatStep,
    testing::Values(
        optimiser<Lars>("lars", LarsOptions{.weight_decay = 0.05}),
        optimiser<Lars>(
            "lars_all",
            LarsOptions{
                .weight_decay = 0.05,
                .trust_coefficient = 0.1,
                .decay_biases_and_norms = true,
                .adapt_biases_and_norms = true}),
        optimiser<Lars>(
            "lars_clipped",
            LarsOptions{
                .weight_decay = 0.05,
                .trust_coefficient = 0.02,
                .trust_ratio = TrustRatio::kClipped}),
        optimiser<Sgd>("sgd", SgdOptions{.weight_decay = 0.05}),
        optimiser<Sgd>(
            "sgd_nesterov",
            SgdOptions{.weight_decay = 0.05, .nesterov = true}),
        optimiser<Sgd>(
            "sgd_plain",
            SgdOptions{.weight_decay = 0.05, .momentum = 0}),
        optimiser<AdamW>("adamw", AdamWOptions{.weight_decay = 0.05})),
    label);

// Where a norm is 0 the step is that of SGD: with decay, and in the clipped
// flavour without.
TEST(FlatLars, HasTrustRatioOneWhereANormIsZero) {
  const float rate = 0.5F;
  const float decay = 0.25F;
  for (const TrustRatio flavour : {TrustRatio::kPlain, TrustRatio::kClipped}) {
    const torch::Tensor zero = torch::zeros({3, 700}).requires_grad_();
    const torch::Tensor still = torch::ones({3, 700}).requires_grad_();
    zero.mutable_grad() = torch::full({3, 700}, 2.0F);
    still.mutable_grad() = torch::zeros({3, 700});
    Lars lars(
        group_parameters(
            std::vector<NamedParameter>{{"zero", zero}, {"still", still}}),
        {.weight_decay = decay,
         .trust_coefficient = 4,
         .trust_ratio = flavour});
    lars.step({.weights = rate, .biases = 0});
    EXPECT_TRUE(torch::equal(zero, torch::full({3, 700}, -rate * 2)));
    // Plain: u = wd p, q = 4 |p| / |u| = 16, and the step is 0.5 x 16 x 0.25.
    const float expected = flavour == TrustRatio::kPlain ? 1 - 2.0F : 1.0F;
    EXPECT_TRUE(torch::allclose(still, torch::full({3, 700}, expected), 1e-6));
  }
}

TEST(Flatten, TakesWhatFillsItsMemoryAsFloat32) {
  const torch::Tensor x = test::normal({4, 8, 3, 3}, 1).to(torch::kFloat32);
  const auto flat = [](const torch::Tensor& p, const torch::Tensor& g) {
    return flatten(p, g, {torch::zeros_like(p)});
  };
  const torch::Tensor last = placed(x, Memory::kChannelsLast);
  ASSERT_TRUE(flat(last, last));
  EXPECT_EQ(flat(last, last)->gradient, last.data_ptr<float>());
  ASSERT_TRUE(flat(last, x));
  EXPECT_NE(flat(last, x)->gradient, x.data_ptr<float>());
  EXPECT_FALSE(flat(placed(x, Memory::kWithGaps), x));
  EXPECT_FALSE(flat(x.to(torch::kFloat64), x.to(torch::kFloat64)));
  EXPECT_FALSE(flat(x, x[0]));
  EXPECT_FALSE(flatten(last, x, {torch::zeros_like(x)}));
  // Both orders are one where a kernel is 1 x 1: nothing is copied.
  const torch::Tensor pixel = torch::ones({4, 8, 1, 1});
  const torch::Tensor other = placed(pixel, Memory::kChannelsLast);
  ASSERT_TRUE(flat(other, pixel));
  EXPECT_EQ(flat(other, pixel)->gradient, pixel.data_ptr<float>());
}

TEST(SquaredNorms, KeepTheirBound) {
  for (const std::int64_t n : {1, 511, 512, 513, 5000, 1 << 14}) {
    const torch::Tensor p = test::normal({n}, 1).to(torch::kFloat32);
    const torch::Tensor g = test::normal({n}, 2).to(torch::kFloat32);
    const SquaredNorms norms =
        squared_norms(p.data_ptr<float>(), g.data_ptr<float>(), 0, n);
    const double bound = 14 * std::ldexp(1.0, -24);
    const auto exact = [](const torch::Tensor& x) {
      return x.to(torch::kFloat64).square().sum().item<double>();
    };
    EXPECT_NEAR(norms.parameter / exact(p), 1, bound) << n;
    EXPECT_NEAR(norms.gradient / exact(g), 1, bound) << n;
  }
}

TEST(FlatLars, TakesAGradientThatIsOneNumberExpanded) {
  const torch::Tensor p = torch::zeros({4, 5}).requires_grad_();
  p.sum().backward();
  Lars lars(group_parameters(std::vector<NamedParameter>{{"p", p}}));
  lars.step({.weights = 0.5, .biases = 0});
  EXPECT_TRUE(torch::equal(p, torch::full({4, 5}, -0.5F)));
}

}  // namespace
}  // namespace barlow::optim
