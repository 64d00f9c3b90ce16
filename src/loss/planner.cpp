// SPDX-License-Identifier: MIT

#include "barlow/loss/planner.h"

#include <algorithm>

#include <c10/util/Exception.h>

#include "loss/product_blocks.h"

namespace barlow {
namespace {

constexpr double kFlopsPerByteOfMemory = 10;
constexpr double kFlopsPerByteOfNetwork = 100;
constexpr double kLargestSampleSpaceRatio = 0.8;  // N / D
constexpr std::int64_t kSamplesAlwaysInFloat64 = 4;
// About 1.3 ms at 50 GFLOP/s, one CPU core's rate in float64.
constexpr double kFlopsInFloat64 = 67108864;  // 2^26
constexpr double kStatisticBytes = 8;         // float64, int64

// The shape in floating point, so that no product overflows.
struct Sizes {
  explicit Sizes(const LossShape& shape)
      : samples(static_cast<double>(shape.samples)),
        features(static_cast<double>(shape.features)),
        ranks(static_cast<double>(shape.ranks)),
        rows(static_cast<double>(shape.rows_per_rank)),
        gradients(static_cast<double>(shape.views_with_gradient)) {}

  // What a rank sends in a ring all-gather of a result of one byte; twice as
  // much in an all-reduce.
  [[nodiscard]] double ring_share() const { return (ranks - 1) / ranks; }

  double samples, features, ranks, rows, gradients;
};

double feature_space_flops(const Sizes& s, double rows) {
  return 2 * rows * s.features * s.features * (1 + s.gradients);
}

double sample_space_flops(const Sizes& s, double rows) {
  return 2 * rows * s.samples * s.features * (2 + s.gradients);
}

// A and B, which the gradients replace.
double shared_memory(const Sizes& s) {
  return 2 * s.rows * s.features;
}

// The rows' counts, the means and the second moments, all-reduced.
double shared_communication_bytes(const Sizes& s) {
  return 2 * s.ring_share() * kStatisticBytes * (s.ranks + 5 * s.features);
}

struct ElementBytes {
  double kept = 4;
  double sent = 4;
};

LossPathCost feature_space_cost(const Sizes& s, const ElementBytes& element) {
  const double matrix = s.features * s.features;
  LossPathCost cost;
  cost.flops = feature_space_flops(s, s.rows);
  const double products =
      s.gradients * s.features *
      std::min(s.rows, static_cast<double>(detail::kProductRows));
  cost.memory_bytes = element.kept * (matrix + products + shared_memory(s));
  // Written, squared, and read by each gradient's product.
  cost.traffic_bytes = element.kept * matrix * (2 + s.gradients);
  cost.communicated_bytes = shared_communication_bytes(s) +
                            2 * s.ring_share() * element.sent * matrix;
  return cost;
}

LossPathCost sample_space_cost(const Sizes& s, const ElementBytes& element) {
  const double matrix = s.rows * s.samples;
  const bool alone = s.ranks == 1;
  const double gathered = alone ? 0 : 2 * s.samples * s.features;
  const double columns = alone ? static_cast<double>(detail::product_columns(
                                     static_cast<std::int64_t>(s.samples)))
                               : s.features;
  const double products = s.gradients * s.rows * std::min(columns, s.features);
  LossPathCost cost;
  cost.flops = sample_space_flops(s, s.rows);
  if (alone) {
    cost.flops -= 2 * matrix * s.features;  // half of two symmetric matrices
  }
  cost.memory_bytes =
      element.kept * (2 * matrix + gathered + products + shared_memory(s));
  // Both written and multiplied, one read by each gradient's product; a view
  // and its product are read once more for the column sums.
  cost.traffic_bytes =
      element.kept * ((4 + s.gradients) * matrix +
                      2 * s.gradients * s.rows * s.features + 2 * gathered);
  cost.communicated_bytes =
      shared_communication_bytes(s) +
      s.ring_share() * (element.sent * gathered +
                        2 * kStatisticBytes * (1 + s.gradients * s.features));
  return cost;
}

double equivalent_flops(const LossPathCost& cost) {
  return cost.flops + kFlopsPerByteOfMemory * cost.traffic_bytes +
         kFlopsPerByteOfNetwork * cost.communicated_bytes;
}

void check_shape(const LossShape& shape) {
  TORCH_CHECK_VALUE(
      shape.samples >= 1 && shape.features >= 1 && shape.ranks >= 1,
      "plan_loss_path: samples, features and ranks must be at least 1, got ",
      shape.samples,
      ", ",
      shape.features,
      ", ",
      shape.ranks);
  TORCH_CHECK_VALUE(
      shape.rows_per_rank <= shape.samples &&
          shape.rows_per_rank >=
              (shape.samples + shape.ranks - 1) / shape.ranks,
      "plan_loss_path: rows_per_rank must be the largest rank's share of ",
      shape.samples,
      " samples on ",
      shape.ranks,
      " ranks, got ",
      shape.rows_per_rank);
  TORCH_CHECK_VALUE(
      shape.views_with_gradient >= 0 && shape.views_with_gradient <= 2,
      "plan_loss_path: views_with_gradient must be 0, 1 or 2, got ",
      shape.views_with_gradient);
}

LossPath cheapest_path(const Sizes& s) {
  if (s.samples > kLargestSampleSpaceRatio * s.features) {
    return LossPath::kFeatureSpace;
  }
  const double feature = equivalent_flops(feature_space_cost(s, {}));
  const double sample = equivalent_flops(sample_space_cost(s, {}));
  return sample < feature ? LossPath::kSampleSpace : LossPath::kFeatureSpace;
}

}  // namespace

LossPlan plan_loss_path(const LossShape& shape, LossPath requested) {
  check_shape(shape);
  const Sizes sizes(shape);
  LossPlan plan;
  plan.path = requested == LossPath::kAuto ? cheapest_path(sizes) : requested;
  const double flops = plan.path == LossPath::kFeatureSpace
                           ? feature_space_flops(sizes, sizes.samples)
                           : sample_space_flops(sizes, sizes.samples);
  const bool in_float64 = shape.input_type == torch::kFloat64 ||
                          shape.samples <= kSamplesAlwaysInFloat64 ||
                          flops <= kFlopsInFloat64;
  plan.compute_type = in_float64 ? torch::kFloat64 : torch::kFloat32;
  const bool rounded = shape.product_type == torch::kBFloat16 && !in_float64;
  plan.product_type = rounded ? torch::kBFloat16 : plan.compute_type;
  // Rounded factors are kept beside the numbers that they come from.
  const ElementBytes element = in_float64 ? ElementBytes{8, 8}
                               : rounded  ? ElementBytes{6, 4}
                                          : ElementBytes{4, 4};
  plan.feature_space = feature_space_cost(sizes, element);
  plan.sample_space = sample_space_cost(sizes, element);
  return plan;
}

}  // namespace barlow
