// SPDX-License-Identifier: MIT
//
// The loss and its gradients against the usual code and against the matrix
// products alone.

#include <algorithm>
#include <cmath>
#include <functional>

#include "barlow/core/peak_memory.h"
#include "barlow/core/random.h"
#include "barlow/loss/barlow_twins_loss.h"
#include "bench/benchmarks.h"
#include "bench/measure.h"
#include "bench/table.h"

namespace barlow::bench {
namespace {

constexpr double kLambda = 0.0051;

struct Shape {
  std::int64_t samples;
  std::int64_t features;
};

struct Inputs {
  explicit Inputs(const Shape& shape)
      : a(numbers(shape, 1)), b((a + numbers(shape, 2)).detach()) {
    a.set_requires_grad(true);
    b.set_requires_grad(true);
  }

  // Uniform in [-1, 1).
  static torch::Tensor numbers(const Shape& shape, std::uint64_t seed) {
    torch::Tensor values = torch::empty({shape.samples, shape.features});
    RandomStream stream({.seed = seed});
    float* out = values.data_ptr<float>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      out[i] = static_cast<float>(stream.uniform(-1, 1));
    }
    return values;
  }

  void clear_gradients() {
    a.mutable_grad().reset();
    b.mutable_grad().reset();
  }

  [[nodiscard]] std::int64_t gradient_bytes() const {
    return static_cast<std::int64_t>(a.nbytes() + b.nbytes());
  }

  torch::Tensor a;
  torch::Tensor b;
};

double run_ours(
    Inputs& inputs,
    LossPath path = LossPath::kAuto,
    torch::ScalarType product_type = torch::kFloat32) {
  inputs.clear_gradients();
  const torch::Tensor loss =
      barlow_twins_loss(
          inputs.a,
          inputs.b,
          {.lambda = kLambda, .path = path, .product_type = product_type})
          .total;
  loss.backward();
  return loss.item<double>();
}

// As the authors wrote it, https://github.com/facebookresearch/barlowtwins
// (main.py), and nearly all after them.
void run_usual(Inputs& inputs) {
  inputs.clear_gradients();
  const auto standardized = [](const torch::Tensor& z) {
    return at::batch_norm(z, {}, {}, {}, {}, true, 0.1, 1e-5, false);
  };
  const std::int64_t d = inputs.a.size(1);
  torch::Tensor c =
      torch::mm(standardized(inputs.a).t(), standardized(inputs.b));
  c.div_(static_cast<double>(inputs.a.size(0)));
  const torch::Tensor on_diagonal = c.diagonal().add_(-1).pow_(2).sum();
  const torch::Tensor off_diagonal = c.flatten()
                                         .narrow(0, 0, d * d - 1)
                                         .view({d - 1, d + 1})
                                         .narrow(1, 1, d)
                                         .flatten()
                                         .pow_(2)
                                         .sum();
  (on_diagonal + kLambda * off_diagonal).backward();
}

// The matrix products of a path and nothing else, into memory that is there:
// half of each symmetric one.
class Products {
 public:
  Products(const Inputs& inputs, LossPath path)
      : a_(inputs.a.detach()),
        b_(inputs.b.detach()),
        path_(path),
        out_(torch::empty_like(a_)) {
    const bool feature = path == LossPath::kFeatureSpace;
    const std::int64_t side = a_.size(feature ? 1 : 0);
    square_ = torch::zeros({side, side});
  }

  void run() {
    const at::NoGradGuard no_gradient;
    if (path_ == LossPath::kFeatureSpace) {
      torch::mm_out(square_, a_.t(), b_);
      torch::mm_out(out_, b_, square_.t());
      torch::mm_out(out_, a_, square_);
      return;
    }
    const std::int64_t half = a_.size(0) / 2;
    torch::Tensor upper = square_.narrow(0, 0, half);
    torch::mm_out(upper, a_.narrow(0, 0, half), a_.t());
    torch::mm_out(upper, b_.narrow(0, 0, half), b_.t());
    torch::mm_out(out_, square_, a_);
    torch::mm_out(out_, square_, b_);
  }

 private:
  torch::Tensor a_, b_;
  LossPath path_;
  torch::Tensor square_, out_;
};

// Besides the gradients.
std::int64_t extra_bytes(Inputs& inputs, const std::function<void()>& step) {
  inputs.clear_gradients();
  return measure_memory(step).peak_bytes - inputs.gradient_bytes();
}

LossPath planned_path(const Shape& shape) {
  return plan_loss_path({.samples = shape.samples,
                         .features = shape.features,
                         .rows_per_rank = shape.samples})
      .path;
}

const char* name_of(LossPath path) {
  return path == LossPath::kFeatureSpace ? "feature" : "sample";
}

void add_comparison(Table& table, const Shape& shape, double seconds) {
  Inputs inputs(shape);
  const LossPath path = planned_path(shape);
  const auto ours = [&] {
    run_ours(inputs);
  };
  const auto usual = [&] {
    run_usual(inputs);
  };
  const std::int64_t ours_bytes = extra_bytes(inputs, ours);
  const std::int64_t usual_bytes = extra_bytes(inputs, usual);
  Products products(inputs, path);
  const auto floor = [&] {
    products.run();
  };
  const auto short_times = time_in_turns_for({ours, floor}, seconds);
  // Apart, since a round of it may take as long as a hundred of ours.
  const auto long_times = time_in_turns_for({ours, usual}, seconds);
  const double ratio = long_times[1].median_ms / long_times[0].median_ms;
  table.add(
      {{"n", shape.samples},
       {"d", shape.features},
       {"path", name_of(path)},
       {"ours_ms", long_times[0].median_ms},
       {"reference_ms", long_times[1].median_ms},
       {"ratio", ratio},
       {"floor_ms", short_times[1].median_ms},
       {"over_floor", short_times[0].median_ms / short_times[1].median_ms},
       {"extra_bytes", ours_bytes},
       {"reference_extra_bytes", usual_bytes}});
}

void add_choice(Table& table, const Shape& shape, double seconds) {
  Inputs inputs(shape);
  const auto times = time_in_turns_for(
      {[&] { run_ours(inputs, LossPath::kFeatureSpace); },
       [&] {
         run_ours(inputs, LossPath::kSampleSpace);
       }},
      seconds);
  const LossPath path = planned_path(shape);
  const double feature_ms = times[0].median_ms;
  const double sample_ms = times[1].median_ms;
  const double picked_ms =
      path == LossPath::kFeatureSpace ? feature_ms : sample_ms;
  table.add(
      {{"n", shape.samples},
       {"d", shape.features},
       {"feature_ms", feature_ms},
       {"sample_ms", sample_ms},
       {"planned", name_of(path)},
       {"within_10_percent",
        picked_ms <= 1.1 * std::min(feature_ms, sample_ms)}});
}

// Distance of one run's gradients from another's, in units of the latter.
double gradient_error(const Inputs& inputs, const torch::Tensor& exact_a) {
  return torch::norm((inputs.a.grad() - exact_a).to(torch::kFloat64))
             .item<double>() /
         torch::norm(exact_a.to(torch::kFloat64)).item<double>();
}

void add_rounded(Table& table, const Shape& shape, double seconds) {
  Inputs inputs(shape);
  const auto exact = [&] {
    return run_ours(inputs);
  };
  const auto rounded = [&] {
    return run_ours(inputs, LossPath::kAuto, torch::kBFloat16);
  };
  const double exact_loss = exact();
  const torch::Tensor exact_gradient = inputs.a.grad().clone();
  const double rounded_loss = rounded();
  const double error = gradient_error(inputs, exact_gradient);
  const auto times = time_in_turns_for({exact, rounded}, seconds);
  table.add(
      {{"n", shape.samples},
       {"d", shape.features},
       {"path", name_of(planned_path(shape))},
       {"float32_ms", times[0].median_ms},
       {"bfloat16_ms", times[1].median_ms},
       {"ratio", times[0].median_ms / times[1].median_ms},
       {"loss_error", std::abs(rounded_loss / exact_loss - 1)},
       {"gradient_error", error}});
}

}  // namespace

void run_loss(const Options& options) {
  Table comparison(
      "The loss and both gradients, float32: barlow, the usual code, and the "
      "matrix products of barlow's path alone",
      options.json);
  const std::vector<Shape> shapes =
      options.quick ? std::vector<Shape>{{64, 512}, {256, 128}}
                    : std::vector<Shape>{
                          {256, 8192},
                          {1024, 8192},
                          {2048, 8192},
                          {256, 2048},
                          {4096, 512}};
  for (const Shape& shape : shapes) {
    add_comparison(comparison, shape, options.quick ? 0.1 : 2);
  }
  comparison.finish({{"threads", options.threads}});

  Table rounding(
      "Factors of the matrix products rounded to bfloat16",
      options.json);
  for (const Shape& shape : shapes) {
    add_rounded(rounding, shape, options.quick ? 0.1 : 2);
  }
  rounding.finish({{"threads", options.threads}});

  Table planner(
      "Both paths' times, and the one that the planner picks",
      options.json);
  const std::vector<std::int64_t> features =
      options.quick ? std::vector<std::int64_t>{128, 256}
                    : std::vector<std::int64_t>{256, 512, 1024, 2048};
  for (const std::int64_t d : features) {
    for (const double ratio : {0.25, 0.5, 0.625, 0.75, 1.0, 2.0}) {
      const auto n = static_cast<std::int64_t>(ratio * static_cast<double>(d));
      add_choice(planner, {n, d}, options.quick ? 0.02 : 0.7);
    }
  }
  planner.finish({{"threads", options.threads}});
}

}  // namespace barlow::bench
