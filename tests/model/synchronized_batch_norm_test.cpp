// SPDX-License-Identifier: MIT
//
// Batch norm over ranks against LibTorch's on the concatenated batch.

#include <numeric>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/model/layers.h"
#include "support/tensors.h"
#include "support/thread_group.h"

namespace barlow::model {
namespace {

using test::relative_error;
using test::run_ranks;

constexpr std::int64_t kChannels = 5;

BatchNorm make_norm(torch::ScalarType type) {
  BatchNorm norm(BatchNormOptions{.features = kChannels});
  torch::NoGradGuard no_grad;
  norm->weight.copy_(test::normal({kChannels}, 1));
  norm->bias.copy_(test::normal({kChannels}, 2));
  norm->to(type);
  return norm;
}

struct Passed {
  torch::Tensor output;
  torch::Tensor input_gradient;
};

// Forward in training mode, backward with a fixed upstream gradient.
Passed pass(BatchNorm norm, const torch::Tensor& x, const torch::Tensor& dy) {
  const torch::Tensor leaf = x.detach().set_requires_grad(true);
  const torch::Tensor output = norm->forward(leaf);
  output.backward(dy);
  return {output.detach(), leaf.grad()};
}

struct Split {
  std::vector<std::int64_t> rows;   // of each rank
  std::vector<std::int64_t> shape;  // of a row, after the channels
  torch::MemoryFormat format = torch::MemoryFormat::Contiguous;
};

torch::Tensor input(const Split& split, std::uint64_t seed) {
  std::vector<std::int64_t> shape{
      std::accumulate(split.rows.begin(), split.rows.end(), std::int64_t{0}),
      kChannels};
  shape.insert(shape.end(), split.shape.begin(), split.shape.end());
  // A mean three deviations from zero, as after a ReLU and more.
  const torch::Tensor x = test::normal(shape, seed) + 3;
  return split.shape.empty() ? x : x.contiguous(split.format);
}

torch::Tensor
rows_of_rank(const torch::Tensor& all, const Split& split, int rank) {
  const auto end = split.rows.begin() + rank;
  return all.narrow(
      0,
      std::accumulate(split.rows.begin(), end, std::int64_t{0}),
      *end);
}

class AnySplit : public testing::TestWithParam<Split> {};

constexpr auto kLast = torch::MemoryFormat::ChannelsLast;
INSTANTIATE_TEST_SUITE_P(
    Splits,
    AnySplit,
    testing::Values(
        Split{{4, 4}, {}},
        Split{{7, 2, 3}, {}},
        Split{{1, 1}, {}},
        Split{{3, 0, 5}, {}},
        Split{{2, 1, 0, 4}, {3, 2}},
        Split{{5, 3}, {4, 4}, kLast},
        Split{{0, 3, 2}, {2, 3}, kLast}),
    [](const auto& split) {
      std::ostringstream name;
      for (const std::int64_t rows : split.param.rows) {
        name << rows << "_";
      }
      name
          << (split.param.shape.empty()     ? "flat"
              : split.param.format == kLast ? "last"
                                            : "first");
      return name.str();
    });

void expect_as_one_process(
    const Split& split,
    torch::ScalarType type,
    double bound) {
  const torch::Tensor x = input(split, 3).to(type);
  const torch::Tensor dy = input(split, 4).to(type);
  BatchNorm whole = make_norm(type);
  const Passed expected = pass(whole, x, dy);

  const auto ranks = static_cast<int>(split.rows.size());
  run_ranks(ranks, [&](const dist::ProcessGroup& group) {
    BatchNorm norm = make_norm(type);
    norm->synchronize(group);
    const int rank = group.rank();
    const Passed actual =
        pass(norm, rows_of_rank(x, split, rank), rows_of_rank(dy, split, rank));
    const auto part = [&](const torch::Tensor& all) {
      return rows_of_rank(all, split, rank);
    };
    EXPECT_LT(relative_error(actual.output, part(expected.output)), bound);
    EXPECT_LT(
        relative_error(actual.input_gradient, part(expected.input_gradient)),
        10 * bound);
    EXPECT_LT(relative_error(norm->running_mean, whole->running_mean), bound);
    EXPECT_LT(relative_error(norm->running_var, whole->running_var), bound);
    EXPECT_EQ(norm->num_batches_tracked.item<std::int64_t>(), 1);
    // Each rank has its part of the parameters' gradients.
    torch::Tensor weight = norm->weight.grad().clone();
    torch::Tensor bias = norm->bias.grad().clone();
    group.all_reduce_sum_(weight);
    group.all_reduce_sum_(bias);
    EXPECT_LT(relative_error(weight, whole->weight.grad()), 10 * bound);
    EXPECT_LT(relative_error(bias, whole->bias.grad()), bound);
  });
}

// Two rows a channel give +-1 whatever they are, and a gradient that is a
// difference of nearly equal numbers.
double bound_for_rows(double usual) {
  const bool two_rows =
      AnySplit::GetParam().rows == std::vector<std::int64_t>{1, 1};
  return two_rows ? 5000 * usual : usual;
}

TEST_P(AnySplit, EqualsBatchNormOfTheWholeBatchInFloat64) {
  expect_as_one_process(GetParam(), torch::kFloat64, bound_for_rows(1e-12));
}

TEST_P(AnySplit, EqualsBatchNormOfTheWholeBatchInFloat32) {
  expect_as_one_process(GetParam(), torch::kFloat32, bound_for_rows(2e-6));
}

TEST(SynchronizedBatchNorm, HasTheGradientOfCentralDifferences) {
  const Split split{{3, 2}, {2, 2}};
  const torch::Tensor x = input(split, 5);
  const torch::Tensor dy = input(split, 6);
  const auto loss = [&](const torch::Tensor& point) {
    BatchNorm norm = make_norm(torch::kFloat64);
    return (norm->forward(point) * dy).sum();
  };
  const torch::Tensor expected = test::central_differences(loss, x);
  run_ranks(2, [&](const dist::ProcessGroup& group) {
    BatchNorm norm = make_norm(torch::kFloat64);
    norm->synchronize(group);
    const int rank = group.rank();
    const Passed actual =
        pass(norm, rows_of_rank(x, split, rank), rows_of_rank(dy, split, rank));
    EXPECT_LT(
        relative_error(
            actual.input_gradient,
            rows_of_rank(expected, split, rank)),
        1e-7);
  });
}

TEST(SynchronizedBatchNorm, TakesBFloat16AndKeepsItsStatisticsInFloat32) {
  const Split split{{6, 10}, {4, 4}, kLast};
  const torch::Tensor x = input(split, 7).to(torch::kBFloat16);
  const torch::Tensor dy = input(split, 8).to(torch::kBFloat16);
  BatchNorm whole = make_norm(torch::kFloat32);
  const Passed expected =
      pass(whole, x.to(torch::kFloat32), dy.to(torch::kFloat32));
  run_ranks(2, [&](const dist::ProcessGroup& group) {
    BatchNorm norm = make_norm(torch::kFloat32);
    norm->synchronize(group);
    const int rank = group.rank();
    const Passed actual =
        pass(norm, rows_of_rank(x, split, rank), rows_of_rank(dy, split, rank));
    EXPECT_EQ(actual.output.scalar_type(), torch::kBFloat16);
    EXPECT_EQ(actual.input_gradient.scalar_type(), torch::kBFloat16);
    // Results are rounded to 8 bits, statistics are not.
    EXPECT_LT(
        relative_error(
            actual.output,
            rows_of_rank(expected.output, split, rank)),
        4e-3);
    EXPECT_LT(
        relative_error(
            actual.input_gradient,
            rows_of_rank(expected.input_gradient, split, rank)),
        4e-3);
    EXPECT_LT(relative_error(norm->running_var, whole->running_var), 1e-5);
  });
}

TEST(SynchronizedBatchNorm, IsPlainInEvaluationModeAndAlone) {
  const Split split{{4, 4}, {}};
  const torch::Tensor x = input(split, 9).to(torch::kFloat32);
  BatchNorm plain = make_norm(torch::kFloat32);
  plain->eval();
  const auto traffic = run_ranks(2, [&](const dist::ProcessGroup& group) {
    BatchNorm norm = make_norm(torch::kFloat32);
    norm->synchronize(group);
    norm->eval();
    EXPECT_TRUE(torch::equal(norm->forward(x), plain->forward(x)));
    norm->train();
    norm->synchronize({});
    BatchNorm alone = make_norm(torch::kFloat32);
    EXPECT_TRUE(torch::equal(norm->forward(x), alone->forward(x)));
  });
  EXPECT_EQ(traffic.calls, 0);
}

TEST(SynchronizedBatchNorm, RefusesOneValueAndASecondDerivative) {
  run_ranks(2, [](const dist::ProcessGroup& group) {
    BatchNorm norm = make_norm(torch::kFloat32);
    norm->synchronize(group);
    const torch::Tensor single =
        torch::ones({group.rank() == 0 ? 1 : 0, kChannels});
    EXPECT_THROW(norm->forward(single), c10::ValueError);

    const torch::Tensor x = torch::ones({3, kChannels}).set_requires_grad(true);
    const torch::Tensor y = norm->forward(x).sum();
    EXPECT_THROW(
        y.backward(
            {},
            /*retain_graph=*/true,
            /*create_graph=*/true),
        c10::NotImplementedError);
  });
}

}  // namespace
}  // namespace barlow::model
