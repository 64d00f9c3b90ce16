// SPDX-License-Identifier: MIT

#include "eval/lbfgs.h"

#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

namespace barlow::eval::detail {
namespace {

double dot_product(const torch::Tensor& a, const torch::Tensor& b) {
  return a.mul(b).sum().item<double>();
}

double length(const torch::Tensor& a) {
  return std::sqrt(dot_product(a, a));
}

struct Pair {
  torch::Tensor step;    // s: difference of points
  torch::Tensor change;  // y: difference of gradients
  double curvature;      // s.y > 0
};

// The inverse Hessian, of which `pairs` tell the action on recent steps, times
// the gradient, negated: the two-loop recursion.
torch::Tensor direction(
    const torch::Tensor& gradient,
    const std::deque<Pair>& pairs,
    const Preconditioner& precondition) {
  torch::Tensor q = gradient.clone();
  std::vector<double> alpha(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    alpha[i] = dot_product(pairs[i].step, q) / pairs[i].curvature;
    q.sub_(pairs[i].change, alpha[i]);
  }
  torch::Tensor r = precondition(q);
  if (!pairs.empty()) {
    const Pair& last = pairs.back();
    r.mul_(
        last.curvature / dot_product(last.change, precondition(last.change)));
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double beta = dot_product(pairs[i].change, r) / pairs[i].curvature;
    r.add_(pairs[i].step, alpha[i] - beta);
  }
  return r.neg_();
}

struct Trial {
  torch::Tensor point;
  Evaluation at;
};

// A step that descends enough and after which the slope has flattened enough
// (the weak Wolfe conditions; the second makes s.y > 0). Bisection between a
// step too short and one too long, doubling while there is none too long.
std::optional<Trial> line_search(
    const Objective& objective,
    const torch::Tensor& point,
    const Evaluation& from,
    const torch::Tensor& towards,
    double value_noise) {
  constexpr double kDescent = 1e-4;
  constexpr double kFlattening = 0.9;
  constexpr int kMaxTrials = 40;
  const double slope = dot_product(from.gradient, towards);
  const double slack = value_noise * std::abs(from.value);
  double too_short = 0;
  double too_long = std::numeric_limits<double>::infinity();
  double t = 1;
  for (int i = 0; i < kMaxTrials && slope < 0; ++i) {
    Trial trial{point.add(towards, t), {}};
    trial.at = objective(trial.point);
    // The negated comparison also sends NaN the short way.
    if (!(trial.at.value <= from.value + kDescent * t * slope + slack)) {
      too_long = t;
    } else if (dot_product(trial.at.gradient, towards) < kFlattening * slope) {
      too_short = t;
    } else {
      return trial;
    }
    t = std::isinf(too_long) ? 2 * t : (too_short + too_long) / 2;
  }
  return std::nullopt;
}

}  // namespace

LbfgsResult minimise(
    const Objective& objective,
    const Preconditioner& precondition,
    const torch::Tensor& start,
    const LbfgsOptions& options) {
  torch::NoGradGuard no_grad;
  LbfgsResult result{.point = start.clone()};
  Evaluation current = objective(result.point);
  std::deque<Pair> pairs;
  double gradient_norm = length(current.gradient);
  while (gradient_norm > options.gradient_tolerance &&
         result.iterations < options.max_iterations) {
    const torch::Tensor towards =
        direction(current.gradient, pairs, precondition);
    std::optional<Trial> next = line_search(
        objective,
        result.point,
        current,
        towards,
        options.value_noise);
    if (!next) {
      break;
    }
    Pair pair{
        next->point - result.point,
        next->at.gradient - current.gradient,
        0};
    pair.curvature = dot_product(pair.step, pair.change);
    if (pair.curvature > 0) {
      pairs.push_back(std::move(pair));
    }
    if (pairs.size() > options.history) {
      pairs.pop_front();
    }
    result.point = std::move(next->point);
    current = std::move(next->at);
    gradient_norm = length(current.gradient);
    ++result.iterations;
  }
  result.value = current.value;
  result.gradient_norm = gradient_norm;
  result.converged = gradient_norm <= options.gradient_tolerance;
  return result;
}

}  // namespace barlow::eval::detail
