// SPDX-License-Identifier: MIT

#include "barlow/eval/linear_probe.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/core/random.h"
#include "eval/lbfgs.h"
#include "eval/softmax_regression.h"

namespace barlow::eval {
namespace {

using detail::BoehningPreconditioner;
using detail::LbfgsOptions;
using detail::LbfgsResult;
using detail::SoftmaxRegression;

constexpr std::int64_t kStandardisedRows = 4096;  // at a time, in float64

// Maps features to mean 0 and deviation 1 on the training set.
struct Standardisation {
  torch::Tensor mean;   // [F] float64
  torch::Tensor scale;  // [F] float64, 1 / deviation; 0 for a constant feature
};

// Calls `use` with the rows, as float64, in blocks.
void for_row_blocks(
    const torch::Tensor& x,
    const std::function<void(std::int64_t first, const torch::Tensor&)>& use) {
  for (std::int64_t first = 0; first < x.size(0); first += kStandardisedRows) {
    const std::int64_t rows = std::min(kStandardisedRows, x.size(0) - first);
    use(first, x.narrow(0, first, rows).to(torch::kFloat64));
  }
}

Standardisation standardisation_of(const torch::Tensor& x) {
  const auto count = static_cast<double>(x.size(0));
  torch::Tensor mean = torch::zeros({x.size(1)}, torch::kFloat64);
  for_row_blocks(x, [&](std::int64_t, const torch::Tensor& rows) {
    mean.add_(rows.sum(0));
  });
  mean.div_(count);
  torch::Tensor variance = torch::zeros_like(mean);
  for_row_blocks(x, [&](std::int64_t, const torch::Tensor& rows) {
    variance.add_((rows - mean).square().sum(0));
  });
  const torch::Tensor deviation = variance.div_(count).sqrt_();
  // Less than float32 resolves at this mean is no signal.
  const torch::Tensor varies = deviation.gt(mean.abs() * 0x1p-24);
  return {
      mean,
      torch::where(varies, deviation.reciprocal(), torch::zeros_like(mean))};
}

// Rows `order` of x, standardised, as float32.
torch::Tensor standardised(
    const torch::Tensor& x,
    const torch::Tensor& order,
    const Standardisation& map) {
  torch::Tensor result = torch::empty({order.size(0), x.size(1)});
  for (std::int64_t first = 0; first < order.size(0);
       first += kStandardisedRows) {
    const std::int64_t rows =
        std::min(kStandardisedRows, order.size(0) - first);
    const torch::Tensor block = x.index_select(0, order.narrow(0, first, rows));
    result.narrow(0, first, rows)
        .copy_((block.to(torch::kFloat64) - map.mean) * map.scale);
  }
  return result;
}

Accuracy accuracy_on(
    const torch::Tensor& x,
    const torch::Tensor& labels,
    const torch::Tensor& parameters) {
  const std::int64_t classes = parameters.size(1);
  const std::int64_t block = detail::rows_in_block(x.size(1), classes);
  torch::Tensor ranks = torch::empty_like(labels);
  for (std::int64_t first = 0; first < x.size(0); first += block) {
    const std::int64_t rows = std::min(block, x.size(0) - first);
    ranks.narrow(0, first, rows)
        .copy_(label_ranks(
            detail::scores(x.narrow(0, first, rows), parameters),
            labels.narrow(0, first, rows)));
  }
  return accuracy_of_ranks(ranks, classes);
}

void check_options(const LinearProbeOptions& options) {
  TORCH_CHECK_VALUE(
      !options.penalties.empty() && *std::min_element(
                                        options.penalties.begin(),
                                        options.penalties.end()) > 0,
      "linear_probe: expected at least one penalty, each > 0");
  TORCH_CHECK_VALUE(
      options.held_out_fraction > 0 && options.held_out_fraction < 1,
      "linear_probe: held_out_fraction must be in (0, 1), got ",
      options.held_out_fraction);
  TORCH_CHECK_VALUE(
      options.max_iterations >= 1 && options.gradient_tolerance > 0,
      "linear_probe: max_iterations and gradient_tolerance must be > 0, got ",
      options.max_iterations,
      " and ",
      options.gradient_tolerance);
}

std::int64_t check_arguments(
    const Features& train,
    const Features& test,
    const LinearProbeOptions& options) {
  check_options(options);
  check_features("linear probe, training", train);
  check_features("linear probe, test", test);
  TORCH_CHECK_VALUE(
      train.features.size(1) == test.features.size(1),
      "linear_probe: ",
      train.features.size(1),
      " training features, ",
      test.features.size(1),
      " test features");
  return check_classes("linear probe", train, test);
}

// The training set in a drawn order, whose last rows are the held-out ones.
class Probe {
 public:
  Probe(
      const Features& train,
      std::int64_t classes,
      const LinearProbeOptions& options)
      : options_(options),
        classes_(classes),
        map_(standardisation_of(train.features)),
        order_(drawn_order(train.features.size(0), options.seed)),
        x_(standardised(train.features, order_, map_)),
        labels_(train.labels.index_select(0, order_)),
        preconditioner_(x_),
        parameters_(torch::zeros(
            {train.features.size(1) + 1, classes},
            torch::kFloat64)) {}

  // Chooses the penalty; each fit starts where the last one ended.
  void choose(LinearProbeResult& result) {
    std::vector<double> grid = options_.penalties;
    std::sort(grid.begin(), grid.end(), std::greater<>());
    result.penalty = grid.front();
    if (grid.size() == 1) {
      return;
    }
    const std::int64_t fitted = x_.size(0) - held_out_rows();
    const std::int64_t rest = x_.size(0) - fitted;
    double best = -1;
    torch::Tensor best_parameters;
    for (const double penalty : grid) {
      const LbfgsResult fit =
          minimise(fitted, penalty, 10 * options_.gradient_tolerance);
      parameters_ = fit.point;
      const double top1 = accuracy_on(
                              x_.narrow(0, fitted, rest),
                              labels_.narrow(0, fitted, rest),
                              parameters_)
                              .top1;
      result.trials.push_back({penalty, top1, fit.iterations});
      if (top1 > best) {
        best = top1;
        best_parameters = parameters_;
        result.penalty = penalty;
      }
    }
    parameters_ = best_parameters;
  }

  void fit(LinearProbeResult& result) {
    const LbfgsResult fit =
        minimise(x_.size(0), result.penalty, options_.gradient_tolerance);
    parameters_ = fit.point;
    result.iterations = fit.iterations;
    result.objective = fit.value;
    result.gradient_norm = fit.gradient_norm;
    result.converged = fit.converged;
    result.train_top1 = accuracy_on(x_, labels_, parameters_).top1;
  }

  void report(const Features& test, LinearProbeResult& result) const {
    const std::int64_t features = x_.size(1);
    const torch::Tensor all = torch::arange(test.features.size(0));
    result.test = accuracy_on(
        standardised(test.features, all, map_),
        test.labels,
        parameters_);
    const torch::Tensor weight =
        parameters_.narrow(0, 0, features) * map_.scale.unsqueeze(1);
    result.bias = (parameters_[features] - torch::mv(weight.t(), map_.mean))
                      .to(torch::kFloat32);
    result.weight = weight.t().contiguous().to(torch::kFloat32);
  }

 private:
  static torch::Tensor drawn_order(std::int64_t size, std::uint64_t seed) {
    RandomStream stream({.seed = seed, .purpose = StreamPurpose::kSplit});
    return torch::tensor(stream.permutation(size), torch::kInt64);
  }

  [[nodiscard]] std::int64_t held_out_rows() const {
    const auto rows = static_cast<std::int64_t>(
        options_.held_out_fraction * static_cast<double>(x_.size(0)));
    return std::clamp<std::int64_t>(rows, 1, x_.size(0) - 1);
  }

  [[nodiscard]] LbfgsResult
  minimise(std::int64_t rows, double penalty, double gradient_tolerance) const {
    const SoftmaxRegression objective(
        x_.narrow(0, 0, rows),
        labels_.narrow(0, 0, rows),
        classes_,
        penalty);
    return detail::minimise(
        [&](const torch::Tensor& point) { return objective.evaluate(point); },
        preconditioner_.with_penalty(penalty),
        parameters_,
        LbfgsOptions{
            .max_iterations = options_.max_iterations,
            .gradient_tolerance = gradient_tolerance});
  }

  const LinearProbeOptions& options_;
  std::int64_t classes_;
  Standardisation map_;
  torch::Tensor order_;   // [N]
  torch::Tensor x_;       // [N, F] float32
  torch::Tensor labels_;  // [N]
  BoehningPreconditioner preconditioner_;
  torch::Tensor parameters_;  // [F + 1, C] float64
};

}  // namespace

LinearProbeResult linear_probe(
    const Features& train,
    const Features& test,
    const LinearProbeOptions& options) {
  const std::int64_t classes = check_arguments(train, test, options);
  torch::NoGradGuard no_grad;
  LinearProbeResult result;
  Probe probe(train, classes, options);
  probe.choose(result);
  probe.fit(result);
  probe.report(test, result);
  return result;
}

}  // namespace barlow::eval
