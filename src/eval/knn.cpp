// SPDX-License-Identifier: MIT

#include "barlow/eval/knn.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>

#include "barlow/core/error.h"

namespace barlow::eval {
namespace {

struct Neighbour {
  float similarity;
  std::int64_t index;
};

bool nearer(const Neighbour& a, const Neighbour& b) {
  return a.similarity > b.similarity ||
         (a.similarity == b.similarity && a.index < b.index);
}

// The k nearest so far of one query, a heap with the farthest in front.
using Nearest = std::vector<Neighbour>;

void offer(Nearest& nearest, std::size_t k, const Neighbour& candidate) {
  if (nearest.size() == k) {
    std::pop_heap(nearest.begin(), nearest.end(), nearer);
    nearest.back() = candidate;
  } else {
    nearest.push_back(candidate);
  }
  std::push_heap(nearest.begin(), nearest.end(), nearer);
}

// Candidates come in order of index, so one that only equals the farthest is
// farther by the rule for ties.
void offer_all(
    Nearest& nearest,
    std::size_t k,
    const float* similarities,
    std::int64_t count,
    std::int64_t first_index) {
  for (std::int64_t j = 0; j < count; ++j) {
    if (nearest.size() < k || similarities[j] > nearest.front().similarity) {
      offer(nearest, k, {similarities[j], first_index + j});
    }
  }
}

// Splits [0, count) between as many threads as LibTorch uses. at::parallel_for
// is serial in code that is not compiled for the OpenMP that LibTorch has.
// `use` must not throw.
void in_parallel(
    std::int64_t count,
    const std::function<void(std::int64_t begin, std::int64_t end)>& use) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(at::get_num_threads(), 1, count);
  std::vector<std::jthread> threads;
  for (std::int64_t part = 1; part < parts; ++part) {
    threads.emplace_back(use, count * part / parts, count * (part + 1) / parts);
  }
  use(0, count / parts);
}

struct BlockSizes {
  std::int64_t queries;
  std::int64_t bank;
};

// A block of q queries and b bank images holds q b cosines, (q + b) F numbers
// of normalised copies, and q lists of k neighbours of 16 bytes. An eighth of
// the bound goes to the queries' own share, up to the 1024 beyond which
// products get no faster.
BlockSizes
block_sizes(std::int64_t features, std::int64_t k, std::int64_t max_bytes) {
  constexpr std::int64_t kMaxQueries = 1024;
  const std::int64_t query_bytes = 4 * features + 16 * k;
  const std::int64_t queries =
      std::clamp<std::int64_t>(max_bytes / 8 / query_bytes, 1, kMaxQueries);
  const std::int64_t bank =
      (max_bytes - queries * query_bytes) / (4 * (queries + features));
  return {queries, std::max<std::int64_t>(bank, 1)};
}

torch::Tensor normalised_rows(
    const torch::Tensor& x,
    std::int64_t first,
    std::int64_t count) {
  torch::Tensor rows = x.narrow(0, first, count).clone();
  const torch::Tensor norms = rows.square().sum(1, /*keepdim=*/true).sqrt_();
  return rows.div_(norms.masked_fill_(norms.eq(0), 1));
}

// Scores [q, C] of a finished block of queries.
torch::Tensor votes(
    std::vector<Nearest>& nearest,
    const torch::Tensor& labels,
    std::int64_t classes,
    double temperature) {
  const auto rows = static_cast<std::int64_t>(nearest.size());
  torch::Tensor scores = torch::zeros({rows, classes}, torch::kFloat64);
  auto* score = scores.data_ptr<double>();
  const auto* label = labels.data_ptr<std::int64_t>();
  for (Nearest& neighbours : nearest) {
    // In order of distance, so that the sums do not depend on the heap's.
    std::sort_heap(neighbours.begin(), neighbours.end(), nearer);
    const double closest = neighbours.front().similarity;
    for (const Neighbour& neighbour : neighbours) {
      score[label[neighbour.index]] +=
          std::exp((neighbour.similarity - closest) / temperature);
    }
    score += classes;
  }
  return scores;
}

void check_arguments(
    const Features& bank,
    const Features& queries,
    const KnnOptions& options) {
  check_features("k-NN bank", bank);
  check_features("k-NN queries", queries);
  TORCH_CHECK_VALUE(
      bank.features.size(1) == queries.features.size(1),
      "weighted_knn: the bank has ",
      bank.features.size(1),
      " features, the queries ",
      queries.features.size(1));
  TORCH_CHECK_VALUE(
      options.temperature > 0 && options.max_block_bytes >= 1,
      "weighted_knn: temperature and max_block_bytes must be > 0, got ",
      options.temperature,
      " and ",
      options.max_block_bytes);
  if (options.k < 1 || options.k > bank.features.size(0)) {
    fail<UsageError>(
        "k-NN: k is ",
        options.k,
        ", expected 1 to ",
        bank.features.size(0),
        ", the number of training images");
  }
}

// The k nearest bank images of queries [first, first + count).
std::vector<Nearest> search(
    const torch::Tensor& bank,
    const torch::Tensor& queries,
    std::int64_t first,
    std::int64_t count,
    const BlockSizes& sizes,
    std::int64_t k) {
  const auto limit = static_cast<std::size_t>(k);
  std::vector<Nearest> nearest(static_cast<std::size_t>(count));
  for (Nearest& neighbours : nearest) {
    neighbours.reserve(limit);
  }
  const torch::Tensor block = normalised_rows(queries, first, count);
  for (std::int64_t start = 0; start < bank.size(0); start += sizes.bank) {
    const std::int64_t width = std::min(sizes.bank, bank.size(0) - start);
    const torch::Tensor cosines =
        torch::mm(block, normalised_rows(bank, start, width).t());
    const auto* values = cosines.data_ptr<float>();
    in_parallel(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        offer_all(
            nearest[static_cast<std::size_t>(i)],
            limit,
            values + i * width,
            width,
            start);
      }
    });
  }
  return nearest;
}

}  // namespace

KnnResult weighted_knn(
    const Features& bank,
    const Features& queries,
    const KnnOptions& options) {
  check_arguments(bank, queries, options);
  torch::NoGradGuard no_grad;
  const std::int64_t classes = check_classes("k-NN", bank, queries);
  const torch::Tensor labels = bank.labels.contiguous();
  const std::int64_t total = queries.features.size(0);
  const BlockSizes sizes =
      block_sizes(bank.features.size(1), options.k, options.max_block_bytes);
  torch::Tensor predictions = torch::empty({total}, torch::kInt64);
  torch::Tensor ranks = torch::empty({total}, torch::kInt64);
  for (std::int64_t first = 0; first < total; first += sizes.queries) {
    const std::int64_t count = std::min(sizes.queries, total - first);
    std::vector<Nearest> nearest =
        search(bank.features, queries.features, first, count, sizes, options.k);
    const torch::Tensor scores =
        votes(nearest, labels, classes, options.temperature);
    predictions.narrow(0, first, count).copy_(scores.argmax(1));
    ranks.narrow(0, first, count)
        .copy_(label_ranks(scores, queries.labels.narrow(0, first, count)));
  }
  return {predictions, accuracy_of_ranks(ranks, classes)};
}

}  // namespace barlow::eval
