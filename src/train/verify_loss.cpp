// SPDX-License-Identifier: MIT

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "barlow/data/sampler.h"
#include "barlow/loss/barlow_twins_loss.h"
#include "barlow/train/verify.h"
#include "train/verify_reference.h"

namespace barlow::train {
namespace {

using detail::reference_loss;
using detail::verify_views;
using detail::VerifyResult;
using detail::VerifyViews;

// Fewer samples than features, more, and the authors' kind of shape.
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 3> kSizes{
    {{64, 128}, {512, 256}, {256, 2048}}};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// [first, first + rows) of the global batch.
std::int64_t first_row(const BatchSplit& split, int rank) {
  const auto begin = split.rows.begin();
  return std::accumulate(begin, begin + rank, std::int64_t{0});
}

LossCheck check_loss(
    const VerifyViews& views,
    const VerifyResult& expected,
    LossCheck check,
    const dist::ProcessGroup& group,
    torch::Device device) {
  const int rank = group.rank();
  const std::int64_t first = first_row(check.split, rank);
  const std::int64_t rows = check.split.rows[static_cast<std::size_t>(rank)];
  const auto own = [&](const torch::Tensor& all) {
    return all.narrow(0, first, rows)
        .to(device, torch::kFloat32)
        .contiguous()
        .set_requires_grad(true);
  };
  const torch::Tensor a = own(views.a);
  const torch::Tensor b = own(views.b);
  const BarlowTwinsLoss loss = barlow_twins_loss(
      a,
      b,
      {.lambda = detail::kVerifyLambda, .path = check.path},
      group);
  loss.total.backward();

  // W times this rank's part of the global gradient is what is promised.
  torch::Tensor squares = torch::zeros({2}, torch::kFloat64);
  const auto compare = [&](const torch::Tensor& z, const torch::Tensor& all) {
    const torch::Tensor wanted = all.narrow(0, first, rows) * group.size();
    const torch::Tensor found = z.grad().to(torch::kCPU, torch::kFloat64);
    squares[0] += (found - wanted).square().sum();
    squares[1] += wanted.square().sum();
  };
  compare(a, expected.a_gradient);
  compare(b, expected.b_gradient);
  group.all_reduce_sum_(squares);
  check.gradient_error =
      std::sqrt(squares[0].item<double>() / squares[1].item<double>());
  check.loss_error =
      std::abs(loss.total.item<double>() - expected.loss) / expected.loss;
  return check;
}

// Gradients of the whole batch, relative to the true ones.
double gradient_error(const VerifyResult& found, const VerifyResult& expected) {
  const auto square = [](const torch::Tensor& a, const torch::Tensor& b) {
    return a.square().sum().item<double>() + b.square().sum().item<double>();
  };
  return std::sqrt(
      square(
          found.a_gradient - expected.a_gradient,
          found.b_gradient - expected.b_gradient) /
      square(expected.a_gradient, expected.b_gradient));
}

// The gradient of what `loss_of` makes of the ranks' rows of both views.
template <class LossOfParts>
VerifyResult differentiate(
    const VerifyViews& views,
    const BatchSplit& split,
    const LossOfParts& loss_of) {
  const torch::Tensor a = views.a.detach().clone().set_requires_grad(true);
  const torch::Tensor b = views.b.detach().clone().set_requires_grad(true);
  const torch::Tensor loss =
      loss_of(a.split_with_sizes(split.rows), b.split_with_sizes(split.rows));
  loss.backward();
  return {loss.item<double>(), a.grad(), b.grad()};
}

using Parts = std::vector<torch::Tensor>;

MistakeCheck check_mistakes(
    const VerifyViews& views,
    const VerifyResult& truth,
    const BatchSplit& split) {
  const auto samples = static_cast<double>(views.a.size(0));
  MistakeCheck check{.split = split};
  const VerifyResult local =
      differentiate(views, split, [&](const Parts& a, const Parts& b) {
        torch::Tensor c;
        for (std::size_t rank = 0; rank < a.size(); ++rank) {
          if (a[rank].size(0) == 0) {
            continue;
          }
          const torch::Tensor part = torch::mm(
              detail::standardized(a[rank]).t(),
              detail::standardized(b[rank]));
          c = c.defined() ? c + part : part;
        }
        return detail::loss_of_correlation(c / samples);
      });
  check.local_statistics_loss = std::abs(local.loss / truth.loss - 1);
  check.local_statistics_gradient = gradient_error(local, truth);

  // Every rank differentiates its own term of C; the mean over W ranks of what
  // should be summed.
  const auto ranks = static_cast<double>(split.rows.size());
  check.raw_all_reduce_gradient = gradient_error(
      {truth.loss, truth.a_gradient / ranks, truth.b_gradient / ranks},
      truth);

  const bool all_have_a_loss =
      std::all_of(split.rows.begin(), split.rows.end(), [](std::int64_t rows) {
        return rows >= 2;
      });
  if (!all_have_a_loss) {
    check.averaged_losses_loss = kNaN;
    check.averaged_losses_gradient = kNaN;
    return check;
  }
  const VerifyResult averaged =
      differentiate(views, split, [&](const Parts& a, const Parts& b) {
        torch::Tensor sum = torch::zeros({}, torch::kFloat64);
        for (std::size_t rank = 0; rank < a.size(); ++rank) {
          const auto rows = static_cast<double>(a[rank].size(0));
          sum = sum + detail::loss_of_correlation(
                          torch::mm(
                              detail::standardized(a[rank]).t(),
                              detail::standardized(b[rank])) /
                          rows);
        }
        return sum / ranks;
      });
  check.averaged_losses_loss = std::abs(averaged.loss / truth.loss - 1);
  check.averaged_losses_gradient = gradient_error(averaged, truth);
  return check;
}

}  // namespace

std::vector<BatchSplit> batch_splits(std::int64_t samples, int ranks) {
  BatchSplit equal{"equal", {}};
  for (int rank = 0; rank < ranks; ++rank) {
    equal.rows.push_back(data::rank_slice(samples, rank, ranks).size());
  }
  if (ranks == 1) {
    return {equal};
  }
  // Each rank but the last takes two thirds of what is left.
  BatchSplit unequal{"unequal", {}};
  std::int64_t left = samples;
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t rows = left * 2 / 3;
    unequal.rows.push_back(rows);
    left -= rows;
  }
  unequal.rows.push_back(left);
  BatchSplit empty{"one empty", {}};
  for (int rank = 0; rank < ranks; ++rank) {
    empty.rows.push_back(
        rank == ranks - 1 ? 0
                          : data::rank_slice(samples, rank, ranks - 1).size());
  }
  return {equal, unequal, empty};
}

std::vector<LossCheck> verify_loss(
    const dist::ProcessGroup& group,
    torch::Device device) {
  std::vector<LossCheck> checks;
  for (const auto& [samples, features] : kSizes) {
    const VerifyViews views = verify_views(samples, features);
    const VerifyResult expected = reference_loss(views);
    for (const BatchSplit& split : batch_splits(samples, group.size())) {
      for (const LossPath path :
           {LossPath::kFeatureSpace, LossPath::kSampleSpace}) {
        checks.push_back(check_loss(
            views,
            expected,
            {.samples = samples,
             .features = features,
             .split = split,
             .path = path},
            group,
            device));
      }
    }
  }
  return checks;
}

std::vector<MistakeCheck> common_mistakes(int ranks) {
  const auto [samples, features] = kSizes[0];
  const VerifyViews views = verify_views(samples, features);
  const VerifyResult truth = reference_loss(views);
  std::vector<MistakeCheck> checks;
  for (const BatchSplit& split : batch_splits(samples, ranks)) {
    checks.push_back(check_mistakes(views, truth, split));
  }
  return checks;
}

}  // namespace barlow::train
