// SPDX-License-Identifier: MIT
//
// What a training step tells, and the file that keeps it.

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

namespace barlow::train {

/// One training step. `step` counts from 1; `epoch` from 0.
struct StepMetrics {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  double loss = 0;        ///< invariance + lambda * redundancy
  double invariance = 0;  ///< sum_i (1 - C_ii)^2
  double redundancy = 0;  ///< sum_{i != j} C_ij^2
  double learning_rate_weights = 0;
  double learning_rate_biases = 0;
  double gradient_norm = 0;            ///< Euclidean, over all parameters
  std::int64_t constant_features = 0;  ///< dead embedding features, both views
  double images_per_s = 0;             ///< of the global batch, this step
  double wait_share = 0;  ///< share of the step's time spent waiting for data
  double time_s = 0;      ///< since the run first started, without pauses
};

/// Appends steps to a metrics.jsonl: one JSON object a line, keys as above,
/// written through to the file at each line.
///
/// Opened at `resume_step`, it first drops the lines of later steps, which a
/// killed process wrote after its last checkpoint, and a line cut short; the
/// rewriting is atomic. The log is never why a run cannot go on: a file with
/// other lines, or that cannot be read, is kept under another name, what can be
/// used of it is taken over, and `on_warning` hears of it, as of a missing one.
class MetricsLog {
 public:
  /// Throws Error, naming the path and the reason.
  MetricsLog(
      std::filesystem::path path,
      std::int64_t resume_step,
      const std::function<void(const std::string&)>& on_warning = {});

  void append(const StepMetrics& metrics);

 private:
  std::filesystem::path path_;
  std::ofstream stream_;
};

}  // namespace barlow::train
