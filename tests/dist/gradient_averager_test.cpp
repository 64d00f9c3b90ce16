// SPDX-License-Identifier: MIT

#include "barlow/dist/gradient_averager.h"

#include <vector>

#include <gtest/gtest.h>

#include "barlow/dist/connect.h"
#include "support/tensors.h"

namespace barlow::dist {
namespace {

// Weights of a chain of matrix products, one of them channels-last.
std::vector<torch::Tensor> parameters_of(std::int64_t layers) {
  std::vector<torch::Tensor> parameters;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    parameters.push_back(test::normal({6, 6}, static_cast<std::uint64_t>(layer))
                             .to(torch::kFloat32)
                             .set_requires_grad(true));
  }
  return parameters;
}

torch::Tensor loss_of(
    const std::vector<torch::Tensor>& parameters,
    int rank,
    std::size_t unused) {
  torch::Tensor x = test::normal({4, 6}, static_cast<std::uint64_t>(100 + rank))
                        .to(torch::kFloat32);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i != unused) {
      x = torch::tanh(torch::mm(x, parameters[i]));
    }
  }
  return x.sum();
}

constexpr std::size_t kAllUsed = 99;

// The mean of all ranks' gradients, computed in one process.
std::vector<torch::Tensor> expected_gradients(int ranks) {
  const auto parameters = parameters_of(5);
  for (int rank = 0; rank < ranks; ++rank) {
    loss_of(parameters, rank, kAllUsed).backward();
  }
  std::vector<torch::Tensor> means;
  for (const torch::Tensor& parameter : parameters) {
    means.push_back(parameter.grad() / ranks);
  }
  return means;
}

struct Case {
  int ranks;
  GradientExchange exchange;
  std::int64_t bucket_bytes;
};

class Averager : public testing::TestWithParam<Case> {};

// 1 byte: a bucket a parameter; 300: two of 144 bytes each; 1 MiB: one bucket.
INSTANTIATE_TEST_SUITE_P(
    Exchanges,
    Averager,
    testing::Values(
        Case{1, GradientExchange::kOverlapped, 300},
        Case{2, GradientExchange::kOverlapped, 1},
        Case{2, GradientExchange::kOverlapped, 1 << 20},
        Case{3, GradientExchange::kOverlapped, 300},
        Case{4, GradientExchange::kOverlapped, 300},
        Case{3, GradientExchange::kAfterBackward, 300}));

TEST_P(Averager, GivesEachRankTheMeanOfAll) {
  const auto expected = expected_gradients(GetParam().ranks);
  run_local_ranks(GetParam().ranks, [&](const ProcessGroup& group) {
    const auto parameters = parameters_of(5);
    GradientAverager averager(
        parameters,
        group,
        {.exchange = GetParam().exchange,
         .bucket_bytes = GetParam().bucket_bytes});
    for (int step = 0; step < 3; ++step) {
      for (const torch::Tensor& parameter : parameters) {
        parameter.mutable_grad() = torch::Tensor();
      }
      averager.begin();
      loss_of(parameters, group.rank(), kAllUsed).backward();
      averager.finish();
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        EXPECT_LT(
            test::relative_error(parameters[i].grad(), expected[i]),
            1e-6);
      }
    }
  });
}

TEST(GradientAverager, LeavesGradientsAloneOutsideOfBeginAndFinish) {
  run_local_ranks(2, [](const ProcessGroup& group) {
    const auto parameters = parameters_of(2);
    GradientAverager averager(parameters, group);
    loss_of(parameters, group.rank(), kAllUsed).backward();
    const torch::Tensor own = parameters[0].grad().clone();
    averager.begin();
    loss_of(parameters, group.rank(), kAllUsed).backward();  // adds up
    averager.finish();
    torch::Tensor sum = own.clone();
    group.all_reduce_sum_(sum);
    // Twice each rank's gradient, averaged over two ranks.
    EXPECT_LT(test::relative_error(parameters[0].grad(), sum), 1e-6);
  });
}

TEST(GradientAverager, CountsAMissingGradientAsZero) {
  run_local_ranks(2, [](const ProcessGroup& group) {
    const auto parameters = parameters_of(3);
    GradientAverager averager(parameters, group, {.bucket_bytes = 1});
    averager.begin();
    // Rank 1 does not use parameter 1.
    loss_of(parameters, 0, group.rank() == 1 ? 1 : kAllUsed).backward();
    torch::Tensor own = parameters[1].grad().defined()
                            ? parameters[1].grad().clone()
                            : torch::zeros({6, 6});
    averager.finish();
    group.all_reduce_sum_(own);
    EXPECT_LT(test::relative_error(parameters[1].grad(), own / 2), 1e-6);
  });
}

TEST(GradientAverager, LeavesAParameterThatNoRankUsesWithoutGradient) {
  run_local_ranks(2, [](const ProcessGroup& group) {
    const auto parameters = parameters_of(3);
    GradientAverager averager(parameters, group);
    averager.begin();
    loss_of(parameters, group.rank(), 1).backward();
    averager.finish();
    EXPECT_TRUE(parameters[0].grad().defined());
    EXPECT_FALSE(parameters[1].grad().defined());
  });
}

TEST(GradientAverager, KeepsTheStridesOfChannelsLastWeights) {
  run_local_ranks(2, [](const ProcessGroup& group) {
    torch::Tensor weight = test::normal({4, 3, 3, 3}, 1)
                               .to(torch::kFloat32)
                               .contiguous(torch::MemoryFormat::ChannelsLast)
                               .set_requires_grad(true);
    GradientAverager averager({weight}, group);
    const torch::Tensor factor =
        test::normal({4, 3, 3, 3}, 2).to(torch::kFloat32);
    averager.begin();
    (weight * factor * (group.rank() + 1)).sum().backward();
    averager.finish();
    EXPECT_LT(test::relative_error(weight.grad(), factor * 1.5), 1e-6);
  });
}

TEST(GradientAverager, RefusesParametersOfTwoTypesAndEmptyBuckets) {
  run_local_ranks(2, [](const ProcessGroup& group) {
    EXPECT_THROW(
        GradientAverager(
            {torch::zeros({1}), torch::zeros({1}, torch::kFloat64)},
            group),
        c10::ValueError);
    EXPECT_THROW(
        GradientAverager({torch::zeros({1})}, group, {.bucket_bytes = 0}),
        c10::ValueError);
  });
}

}  // namespace
}  // namespace barlow::dist
