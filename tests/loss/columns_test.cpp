// SPDX-License-Identifier: MIT
//
// The loss's own loops against LibTorch's operations in float64: any size, any
// strides, and the same bits for any number of threads.

#include "loss/columns.h"

#include <array>
#include <functional>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "loss/gram.h"
#include "support/tensors.h"

namespace barlow {
namespace {

using test::relative_error;

// Sums of a few thousand terms in float64, and elementwise float32.
constexpr double kSumError = 1e-12;
constexpr double kElementError = 2e-7;

struct Size {
  std::int64_t rows;
  std::int64_t columns;
};

// About groups of 8 rows, vectors of 16 and blocks of 128 and 512 columns.
const std::vector<Size>& sizes() {
  static const std::vector<Size> all{
      {0, 5},
      {1, 1},
      {1, 700},
      {2, 15},
      {7, 16},
      {8, 17},
      {9, 127},
      {16, 128},
      {17, 129},
      {31, 511},
      {40, 512},
      {65, 513},
      {3, 2050},
      {1500, 3},
      {700, 130},
      {129, 1100}};
  return all;
}

torch::Tensor matrix(const Size& size, std::uint64_t seed) {
  // Columns of different means, some of them far from 0.
  const torch::Tensor means = 100 * test::normal({size.columns}, seed + 1);
  return (test::normal({size.rows, size.columns}, seed) + means)
      .to(torch::kFloat32);
}

torch::Tensor row(const Size& size, std::uint64_t seed) {
  return test::normal({size.columns}, seed).to(torch::kFloat32);
}

torch::Tensor wide(const torch::Tensor& tensor) {
  return tensor.to(torch::kFloat64);
}

// The same numbers, rows apart from each other.
torch::Tensor with_gaps(const torch::Tensor& tensor) {
  return torch::cat({tensor, tensor.narrow(1, 0, 1)}, 1)
      .narrow(1, 0, tensor.size(1));
}

// The same numbers, column after column.
torch::Tensor by_columns(const torch::Tensor& tensor) {
  return tensor.t().contiguous().t();
}

using Results = std::vector<torch::Tensor>;

// Every result in one thread and in two: the same bits.
Results in_threads(const std::function<Results()>& work) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  Results one = work();
  at::set_num_threads(2);
  const Results two = work();
  at::set_num_threads(threads);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(torch::equal(one[i], two[i])) << "result " << i;
  }
  return one;
}

class Columns : public testing::Test {
 protected:
  static void for_sizes(const std::function<void(const Size&)>& check) {
    for (const Size& size : sizes()) {
      SCOPED_TRACE(testing::Message() << size.rows << " x " << size.columns);
      check(size);
    }
  }
};

TEST_F(Columns, MomentsAreThoseAboutThePivots) {
  for_sizes([](const Size& size) {
    const torch::Tensor a = matrix(size, 1);
    const torch::Tensor b = matrix(size, 3);
    const Results actual = in_threads([&] {
      const detail::PivotMoments m = detail::pivot_moments(a, b);
      return Results{m.pivots, m.sums};
    });
    if (size.rows == 0) {
      EXPECT_EQ(actual[1].abs().sum().item<double>(), 0);
      return;
    }
    EXPECT_TRUE(torch::equal(actual[0], wide(torch::stack({a[0], b[0]}))));
    const torch::Tensor x = wide(a) - wide(a[0]);
    const torch::Tensor y = wide(b) - wide(b[0]);
    const torch::Tensor expected = torch::stack(
        {x.sum(0), y.sum(0), (x * x).sum(0), (y * y).sum(0), (x * y).sum(0)});
    EXPECT_LT(relative_error(actual[1], expected), kSumError);
  });
}

TEST_F(Columns, MomentsOfConstantColumnsAreExactly0) {
  const torch::Tensor a = torch::full({333, 37}, 0.1F);
  const detail::PivotMoments m = detail::pivot_moments(a, a);
  EXPECT_EQ(m.sums.abs().sum().item<double>(), 0);
}

// LibTorch's way takes other pivots: compared are the centred moments.
TEST_F(Columns, MomentsDoNotDependOnTheWay) {
  const auto centred = [](const detail::PivotMoments& m, double rows) {
    const torch::Tensor mean = m.sums.narrow(0, 0, 2) / rows;
    return torch::cat(
        {m.pivots + mean,
         m.sums.narrow(0, 2, 2) / rows - mean * mean,
         (m.sums[4] / rows - mean[0] * mean[1]).unsqueeze(0)});
  };
  for_sizes([&](const Size& size) {
    if (size.rows < 2) {
      return;
    }
    const torch::Tensor a = matrix(size, 1);
    const torch::Tensor b = matrix(size, 3);
    const auto rows = static_cast<double>(size.rows);
    const auto loops = centred(detail::pivot_moments(a, b), rows);
    const auto operations = centred(
        detail::pivot_moments(wide(by_columns(a)), wide(by_columns(b))),
        rows);
    for (std::int64_t i = 0; i < loops.size(0); ++i) {
      EXPECT_LT(relative_error(loops[i], operations[i]), kSumError) << i;
    }
  });
}

TEST_F(Columns, ShiftsAndScales) {
  for_sizes([](const Size& size) {
    const torch::Tensor z = matrix(size, 1);
    const torch::Tensor shift = row(size, 2);
    const torch::Tensor scale = row(size, 3);
    const torch::Tensor offset = row(size, 4);
    const torch::Tensor actual = in_threads([&] {
      return Results{detail::shift_and_scale(z, shift, scale, offset)};
    })[0];
    const torch::Tensor expected =
        (wide(z) - wide(shift)) * wide(scale) + wide(offset);
    EXPECT_LT(relative_error(actual, expected), kElementError);
    const torch::Tensor other =
        detail::shift_and_scale(by_columns(z), shift, scale, offset);
    EXPECT_TRUE(other.is_contiguous());
    EXPECT_LT(relative_error(other, expected), kElementError);
  });
}

TEST_F(Columns, DotsTakeAnyStrides) {
  for_sizes([](const Size& size) {
    const torch::Tensor x = matrix(size, 1);
    const torch::Tensor y = matrix(size, 3);
    const torch::Tensor plain =
        in_threads([&] { return Results{detail::column_dots(x, y)}; })[0];
    const torch::Tensor expected = (wide(x) * wide(y)).sum(0);
    EXPECT_LT(relative_error(plain, expected), kSumError);
    EXPECT_TRUE(torch::equal(detail::column_dots(with_gaps(x), y), plain));
    EXPECT_LT(
        relative_error(detail::column_dots(by_columns(x), y), expected),
        kSumError);
  });
}

TEST_F(Columns, SquaresAreSummedBothWays) {
  for_sizes([](const Size& size) {
    const torch::Tensor x = matrix(size, 1);
    const Results actual = in_threads([&] {
      const detail::SquareSums sums = detail::square_sums(x);
      return Results{sums.by_row, sums.by_column};
    });
    EXPECT_LT(relative_error(actual[0], wide(x).square().sum(1)), kSumError);
    EXPECT_LT(relative_error(actual[1], wide(x).square().sum(0)), kSumError);
    const detail::SquareSums other = detail::square_sums(with_gaps(x));
    EXPECT_LT(relative_error(other.by_row, actual[0]), 1e-6);
    EXPECT_LT(relative_error(other.by_column, actual[1]), 1e-6);
  });
}

class Combining : public Columns {
 protected:
  // Of both views, or of those whose product is wanted.
  static Results combined(
      const Size& size,
      const std::array<bool, 2>& needs,
      const std::function<torch::Tensor(const torch::Tensor&)>& laid_out) {
    detail::CombinedView a{laid_out(matrix(size, 1)), {}, factors(size, 10)};
    detail::CombinedView b{laid_out(matrix(size, 3)), {}, factors(size, 20)};
    if (needs[0]) {
      a.product = matrix(size, 5);
    }
    if (needs[1]) {
      b.product = matrix(size, 7);
    }
    detail::combine_(a, b);
    return {a.view, b.view};
  }

  static detail::Combination factors(const Size& size, std::uint64_t seed) {
    return {row(size, seed), row(size, seed + 1), row(size, seed + 2)};
  }
};

TEST_F(Combining, EqualsTheFormulaForEitherViewAndBoth) {
  for_sizes([](const Size& size) {
    const auto expected = [&](std::uint64_t own,
                              std::uint64_t other,
                              std::uint64_t product,
                              std::uint64_t seed) {
      const detail::Combination f = factors(size, seed);
      return wide(matrix(size, product)) * wide(f.product) +
             wide(matrix(size, other)) * wide(f.other) +
             wide(matrix(size, own)) * wide(f.view);
    };
    const auto same = [](const torch::Tensor& x) {
      return x.clone();
    };
    const Results both = in_threads([&] {
      return combined(size, {true, true}, same);
    });
    EXPECT_LT(relative_error(both[0], expected(1, 3, 5, 10)), kElementError);
    EXPECT_LT(relative_error(both[1], expected(3, 1, 7, 20)), kElementError);
    const Results of_a = combined(size, {true, false}, with_gaps);
    EXPECT_TRUE(torch::equal(of_a[0], both[0]));
    EXPECT_TRUE(torch::equal(of_a[1], matrix(size, 3)));
    const Results of_b = combined(size, {false, true}, with_gaps);
    EXPECT_TRUE(torch::equal(of_b[0], matrix(size, 1)));
    EXPECT_TRUE(torch::equal(of_b[1], both[1]));
    const Results operations = combined(size, {true, true}, by_columns);
    EXPECT_LT(relative_error(operations[0], both[0]), kElementError);
    EXPECT_LT(relative_error(operations[1], both[1]), kElementError);
  });
}

TEST(GramRows, OfAllRowsAreTheProduct) {
  for (const std::int64_t rows : {0, 1, 2, 63, 64, 65, 128, 200, 1100}) {
    const torch::Tensor x = test::normal({rows, 33}, 1).to(torch::kFloat32);
    const torch::Tensor gram = detail::gram_rows(x, x);
    EXPECT_LT(relative_error(gram, wide(x).mm(wide(x).t())), 1e-6) << rows;
  }
}

TEST(GramRows, OfSomeRowsAreTheirs) {
  const torch::Tensor x = test::normal({150, 20}, 2);
  const torch::Tensor some = detail::gram_rows(x.narrow(0, 30, 70), x);
  EXPECT_LT(relative_error(some, x.narrow(0, 30, 70).mm(x.t())), kSumError);
}

}  // namespace
}  // namespace barlow
