// SPDX-License-Identifier: MIT
//
// Collectives over Gloo, ranks as threads.

#include "barlow/dist/process_group.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/dist/connect.h"
#include "barlow/dist/named_tensors.h"
#include "support/tensors.h"

namespace barlow::dist {
namespace {

// A tensor whose content depends on the rank.
torch::Tensor of_rank(
    const std::vector<std::int64_t>& shape,
    int rank,
    torch::ScalarType type) {
  return test::normal(shape, static_cast<std::uint64_t>(rank)).to(type);
}

class AnyWorldSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, AnyWorldSize, testing::Values(1, 2, 3, 4));

TEST_P(AnyWorldSize, AllReduceSumsOverRanksInEveryType) {
  run_local_ranks(GetParam(), [](const ProcessGroup& group) {
    for (const auto type :
         {torch::kFloat64,
          torch::kFloat32,
          torch::kBFloat16,
          torch::kFloat16}) {
      torch::Tensor expected = torch::zeros({3, 5}, torch::kFloat64);
      for (int rank = 0; rank < group.size(); ++rank) {
        expected += of_rank({3, 5}, rank, type).to(torch::kFloat64);
      }
      torch::Tensor sum = of_rank({3, 5}, group.rank(), type);
      group.all_reduce_sum_(sum);
      EXPECT_EQ(sum.scalar_type(), type);
      // Half precision travels as float32 and is rounded once, at the end.
      const double bound = type == torch::kFloat64    ? 1e-14
                           : type == torch::kFloat32  ? 1e-6
                           : type == torch::kBFloat16 ? 1e-2
                                                      : 1e-3;
      EXPECT_LT(test::relative_error(sum, expected), bound) << type;
    }
    torch::Tensor counts = torch::full({2}, std::int64_t{1} << 60);
    counts += group.rank();
    group.all_reduce_sum_(counts);
    const std::int64_t w = group.size();
    EXPECT_EQ(counts[1].item<std::int64_t>(), (w << 60) + w * (w - 1) / 2);
  });
}

TEST_P(AnyWorldSize, AllReducesThatOverlapKeepTheirResultsApart) {
  run_local_ranks(GetParam(), [](const ProcessGroup& group) {
    std::vector<torch::Tensor> tensors;
    std::vector<PendingCollective> pending;
    for (int i = 0; i < 20; ++i) {
      tensors.push_back(torch::full({1000}, i + 1, torch::kFloat32));
      pending.push_back(group.start_all_reduce_sum(tensors.back()));
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      pending[i].wait();
      const auto expected =
          static_cast<float>((i + 1) * static_cast<std::size_t>(group.size()));
      EXPECT_TRUE(tensors[i].eq(expected).all().item<bool>()) << i;
    }
  });
}

TEST_P(AnyWorldSize, GathersRowsOfUnequalNumberInRankOrder) {
  run_local_ranks(GetParam(), [](const ProcessGroup& group) {
    // Rank 1 has none.
    const auto rows_of = [](int rank) {
      return rank == 1 ? std::int64_t{0} : std::int64_t{2 + rank};
    };
    const torch::Tensor own =
        of_rank({rows_of(group.rank()), 3}, group.rank(), torch::kFloat32);
    const auto counts = group.gather_counts(own.size(0));
    std::vector<torch::Tensor> parts;
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_EQ(counts[static_cast<std::size_t>(rank)], rows_of(rank));
      parts.push_back(of_rank({rows_of(rank), 3}, rank, torch::kFloat32));
    }
    const torch::Tensor all = group.all_gather_rows(own, counts);
    EXPECT_TRUE(torch::equal(all, torch::cat(parts)));
  });
}

TEST_P(AnyWorldSize, GathersNothingWhereNobodyHasARow) {
  run_local_ranks(GetParam(), [](const ProcessGroup& group) {
    const std::vector<std::int64_t> none(
        static_cast<std::size_t>(group.size()),
        0);
    const torch::Tensor all = group.all_gather_rows(torch::empty({0, 3}), none);
    EXPECT_EQ(all.sizes(), (std::vector<std::int64_t>{0, 3}));
  });
}

TEST_P(AnyWorldSize, BroadcastsTensorsAndTexts) {
  run_local_ranks(GetParam(), [](const ProcessGroup& group) {
    const int root = group.size() - 1;
    torch::Tensor tensor = of_rank({4}, group.rank(), torch::kFloat32);
    group.broadcast_(tensor, root);
    EXPECT_TRUE(torch::equal(tensor, of_rank({4}, root, torch::kFloat32)));

    std::string text = "rank ";
    text.append(std::to_string(group.rank()));
    EXPECT_EQ(group.broadcast_text(text), "rank 0");
    EXPECT_EQ(group.broadcast_text(""), "");
    const auto texts = group.gather_texts(group.rank() == 0 ? "" : text);
    EXPECT_EQ(texts.size(), static_cast<std::size_t>(group.size()));
    EXPECT_EQ(texts[0], "");
    EXPECT_EQ(texts.back(), group.size() == 1 ? "" : texts.back());
    if (group.size() > 1) {
      EXPECT_EQ(texts[1], "rank 1");
    }
  });
}

TEST_P(AnyWorldSize, NamedTensorsOfTheRootReachAllRanks) {
  run_local_ranks(GetParam(), [](const ProcessGroup& group) {
    NamedTensors own;
    if (group.rank() == 0) {
      own.emplace("a b.weight", of_rank({2, 3}, 7, torch::kFloat32));
      own.emplace("count", torch::full({}, 5, torch::kInt64));
      own.emplace("none", torch::empty({0, 4}));
      own.emplace("half", of_rank({3}, 8, torch::kBFloat16));
      own.emplace(
          "strided",
          of_rank({3, 4}, 9, torch::kFloat64).t().narrow(0, 1, 2));
    }
    const NamedTensors all = broadcast_named_tensors(own, group);
    ASSERT_EQ(all.size(), 5U);
    EXPECT_TRUE(torch::equal(
        all.at("a b.weight"),
        of_rank({2, 3}, 7, torch::kFloat32)));
    EXPECT_EQ(all.at("count").item<std::int64_t>(), 5);
    EXPECT_EQ(all.at("none").sizes(), (std::vector<std::int64_t>{0, 4}));
    EXPECT_TRUE(
        torch::equal(all.at("half"), of_rank({3}, 8, torch::kBFloat16)));
    EXPECT_TRUE(torch::equal(
        all.at("strided"),
        of_rank({3, 4}, 9, torch::kFloat64).t().narrow(0, 1, 2)));
  });
}

TEST(ProcessGroup, IsASingleProcessByDefault) {
  const ProcessGroup group;
  EXPECT_EQ(group.rank(), 0);
  EXPECT_EQ(group.size(), 1);
  torch::Tensor tensor = torch::ones({2});
  group.all_reduce_sum_(tensor);
  group.broadcast_(tensor);
  EXPECT_TRUE(torch::equal(tensor, torch::ones({2})));
  EXPECT_EQ(group.gather_texts("x"), std::vector<std::string>{"x"});
  group.announce_failure("nobody listens");
}

TEST(ProcessGroup, RefusesWhatIsNotContiguous) {
  const ProcessGroup group;
  torch::Tensor transposed = torch::zeros({2, 3}).t();
  EXPECT_THROW(group.all_reduce_sum_(transposed), c10::ValueError);
  EXPECT_THROW(group.broadcast_(transposed), c10::ValueError);
  torch::Tensor tensor = torch::zeros({2});
  EXPECT_THROW(group.broadcast_(tensor, 1), c10::ValueError);
}

}  // namespace
}  // namespace barlow::dist
