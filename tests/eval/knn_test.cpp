// SPDX-License-Identifier: MIT

#include "barlow/eval/knn.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/core/random.h"
#include "support/tensors.h"

namespace barlow::eval {
namespace {

// Points around one direction per class, so that neighbours mostly agree.
Features clusters(std::int64_t size, std::int64_t classes, std::uint64_t seed) {
  constexpr std::int64_t kFeatures = 16;
  RandomStream stream({.seed = seed});
  Features features{
      test::normal({size, kFeatures}, seed).to(torch::kFloat32),
      torch::empty({size}, torch::kInt64)};
  for (std::int64_t i = 0; i < size; ++i) {
    const auto label = static_cast<std::int64_t>(
        stream.integer(static_cast<std::uint64_t>(classes)));
    features.labels[i] = label;
    features.features[i][label] += 3;
  }
  return features;
}

// The definition, in float64, one query at a time.
std::vector<std::int64_t> brute_force(
    const Features& bank,
    const Features& queries,
    std::int64_t k,
    double temperature) {
  const torch::Tensor b = bank.features.to(torch::kFloat64);
  const torch::Tensor q = queries.features.to(torch::kFloat64);
  std::vector<std::int64_t> predictions;
  for (std::int64_t i = 0; i < q.size(0); ++i) {
    std::vector<std::pair<double, std::int64_t>> all;
    for (std::int64_t j = 0; j < b.size(0); ++j) {
      const double cosine =
          (q[i].dot(b[j]) / q[i].norm() / b[j].norm()).item<double>();
      all.emplace_back(-cosine, j);
    }
    std::sort(all.begin(), all.end());
    std::vector<double> votes(16, 0.0);
    for (std::int64_t n = 0; n < k; ++n) {
      const auto& [negated, j] = all[static_cast<std::size_t>(n)];
      const auto label = bank.labels[j].item<std::int64_t>();
      votes[static_cast<std::size_t>(label)] +=
          std::exp(-negated / temperature);
    }
    predictions.push_back(
        std::max_element(votes.begin(), votes.end()) - votes.begin());
  }
  return predictions;
}

Features features_of(
    const std::vector<std::vector<double>>& rows,
    const std::vector<std::int64_t>& labels) {
  torch::Tensor x = torch::empty({0, 2});
  for (const auto& row : rows) {
    x = torch::cat({x, torch::tensor(row).to(torch::kFloat32).view({1, -1})});
  }
  return {x.contiguous(), torch::tensor(labels, torch::kInt64)};
}

TEST(WeightedKnn, EqualsBruteForceForAnyBlockSize) {
  const Features bank = clusters(157, 10, 1);
  const Features queries = clusters(43, 10, 2);
  const auto expected =
      torch::tensor(brute_force(bank, queries, 20, 0.1), torch::kInt64);
  // From one image at a time to everything at once.
  for (const std::int64_t bytes : {1, 3000, 20'000, 100'000, 1 << 28}) {
    const KnnResult result = weighted_knn(
        bank,
        queries,
        {.k = 20, .temperature = 0.1, .max_block_bytes = bytes});
    EXPECT_TRUE(torch::equal(result.predictions, expected))
        << bytes << " bytes";
    const double hits =
        expected.eq(queries.labels).to(torch::kFloat64).mean().item<double>();
    EXPECT_EQ(result.accuracy.top1, hits);
    EXPECT_GT(*result.accuracy.top5, result.accuracy.top1);
  }
}

TEST(WeightedKnn, EqualsPython) {
  const NamedTensors oracle =
      test::read_oracle(BARLOW_ORACLE_DIR, "eval.safetensors");
  const Features bank{oracle.at("train.features"), oracle.at("train.labels")};
  const Features queries{oracle.at("test.features"), oracle.at("test.labels")};
  for (const auto& [k, temperature] : std::vector<std::pair<int, double>>{
           {1, 0.07},
           {20, 0.07},
           {200, 0.5},
           {400, 0.07}}) {
    const KnnResult result =
        weighted_knn(bank, queries, {.k = k, .temperature = temperature});
    const std::string name = "knn." + std::to_string(k);
    EXPECT_TRUE(
        torch::equal(result.predictions, oracle.at(name + ".predictions")))
        << name;
    EXPECT_EQ(result.accuracy.top1, oracle.at(name + ".top1").item<double>());
    EXPECT_EQ(*result.accuracy.top5, oracle.at(name + ".top5").item<double>());
  }
}

// A neighbour at 0 degrees against two at 60: exp(1/T) over 2 exp(0.5/T), equal
// at T = 0.5 / ln 2 = 0.72.
TEST(WeightedKnn, WeighsVotesByTemperature) {
  const double height = std::sqrt(0.75);
  const Features bank =
      features_of({{5, 0}, {0.5, height}, {0.5, -height}}, {1, 0, 0});
  const Features query = features_of({{1, 0}}, {1});
  const auto top1 = [&](double temperature) {
    return weighted_knn(bank, query, {.k = 3, .temperature = temperature})
        .accuracy.top1;
  };
  EXPECT_EQ(top1(0.70), 1.0);
  EXPECT_EQ(top1(0.74), 0.0);
  // exp(1 / T) alone would overflow.
  EXPECT_EQ(top1(1e-4), 1.0);
}

TEST(WeightedKnn, BreaksTiesByTheLowerIndexAndTheLowerClass) {
  const Features bank =
      features_of({{1, 0}, {2, 0}, {3, 0}, {4, 0}}, {3, 2, 2, 1});
  const Features query = features_of({{1, 0}}, {3});
  const auto prediction = [&](std::int64_t k, std::int64_t bytes) {
    return weighted_knn(bank, query, {.k = k, .max_block_bytes = bytes})
        .predictions.item<std::int64_t>();
  };
  for (const std::int64_t bytes : {1, 1 << 20}) {
    EXPECT_EQ(prediction(1, bytes), 3);
    EXPECT_EQ(prediction(2, bytes), 2);
    EXPECT_EQ(prediction(3, bytes), 2);
  }
}

// Of the two at 60 degrees the lower one stays when a nearer pair arrives.
TEST(WeightedKnn, ForgetsTheHigherOfEqualIndicesFirst) {
  const double height = std::sqrt(0.75);
  const Features bank = features_of(
      {{0.5, height}, {0.5, height}, {0.6, 0.8}, {0.6, 0.8}},
      {1, 0, 0, 1});
  const Features query = features_of({{1, 0}}, {1});
  const KnnResult result = weighted_knn(bank, query, {.k = 3});
  EXPECT_EQ(result.predictions.item<std::int64_t>(), 1);
}

TEST(WeightedKnn, TakesAZeroVectorAsUnrelatedToAll) {
  const Features bank = features_of({{0, 0}, {-1, 0}}, {1, 0});
  const Features query = features_of({{1, 0}, {0, 0}}, {1, 0});
  const KnnResult result = weighted_knn(bank, query, {.k = 1});
  EXPECT_EQ(result.predictions[0].item<std::int64_t>(), 1);
  EXPECT_EQ(result.predictions[1].item<std::int64_t>(), 1);
}

TEST(WeightedKnn, RefusesMoreNeighboursThanThereAre) {
  const Features bank = features_of({{1, 0}, {2, 0}}, {0, 1});
  try {
    (void)weighted_knn(bank, bank, {.k = 3});
    ADD_FAILURE() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "k-NN: k is 3, expected 1 to 2, the number of training images");
  }
  EXPECT_THROW((void)weighted_knn(bank, bank, {.k = 0}), UsageError);
}

TEST(WeightedKnn, RefusesWrongArguments) {
  const Features bank = features_of({{1, 0}, {2, 0}}, {0, 1});
  const Features other{torch::ones({1, 3}), torch::zeros({1}, torch::kInt64)};
  EXPECT_THROW((void)weighted_knn(bank, other, {.k = 1}), c10::ValueError);
  EXPECT_THROW(
      (void)weighted_knn(bank, bank, {.k = 1, .temperature = 0}),
      c10::ValueError);
  EXPECT_THROW(
      (void)weighted_knn(bank, bank, {.k = 1, .max_block_bytes = 0}),
      c10::ValueError);
  const Features broken{
      torch::full({1, 2}, NAN),
      torch::zeros({1}, torch::kInt64)};
  EXPECT_THROW((void)weighted_knn(bank, broken, {.k = 1}), Error);
  const Features single{bank.features, torch::zeros({2}, torch::kInt64)};
  EXPECT_THROW((void)weighted_knn(single, bank, {.k = 1}), UsageError);
}

}  // namespace
}  // namespace barlow::eval
