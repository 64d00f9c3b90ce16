// SPDX-License-Identifier: MIT
//
// The tests' own process group.

#include "support/thread_group.h"

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

namespace barlow {
namespace {

using test::run_ranks;

TEST(ThreadGroup, RethrowsARanksErrorAndHangsNobody) {
  EXPECT_THROW(
      run_ranks(
          3,
          [](const dist::ProcessGroup& group) {
            if (group.rank() == 1) {
              throw std::out_of_range("rank 1");
            }
            torch::Tensor one = torch::ones({1});
            group.all_reduce_sum_(one);
          }),
      std::out_of_range);
}

TEST(ThreadGroup, RefusesCallsThatDiffer) {
  EXPECT_THROW(
      run_ranks(
          2,
          [](const dist::ProcessGroup& group) {
            torch::Tensor values = torch::ones({1 + group.rank()});
            group.all_reduce_sum_(values);
          }),
      std::logic_error);
  EXPECT_THROW(
      run_ranks(
          2,
          [](const dist::ProcessGroup& group) {
            torch::Tensor values = torch::ones({1});
            if (group.rank() == 0) {
              group.all_reduce_sum_(values);
            }
          }),
      std::logic_error);
}

TEST(ThreadGroup, SumsInRankOrderAndGathersInRankOrder) {
  run_ranks(4, [](const dist::ProcessGroup& group) {
    torch::Tensor value = torch::full({1}, group.rank() == 0 ? 1e8F : 1.0F);
    group.all_reduce_sum_(value);
    EXPECT_EQ(value.item<float>(), 1e8F);  // 1e8 + 1 = 1e8, three times
    const auto counts = group.gather_counts(group.rank());
    EXPECT_EQ(counts, (std::vector<std::int64_t>{0, 1, 2, 3}));
    const torch::Tensor all = group.all_gather_rows(
        torch::full({group.rank(), 2}, static_cast<float>(group.rank())),
        counts);
    const torch::Tensor expected =
        torch::tensor({1.0F, 2.0F, 2.0F, 3.0F, 3.0F, 3.0F});
    EXPECT_TRUE(torch::equal(all.select(1, 0), expected));
  });
}

}  // namespace
}  // namespace barlow
