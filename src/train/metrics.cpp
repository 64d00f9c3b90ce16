// SPDX-License-Identifier: MIT

#include "barlow/train/metrics.h"

#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "barlow/core/error.h"
#include "barlow/state/atomic_file.h"

namespace barlow::train {
namespace {

// The lines of steps up to `last_step`.
std::string lines_until(
    const std::filesystem::path& path,
    std::int64_t last_step) {
  std::ifstream stream(path);
  std::string kept;
  std::string line;
  while (std::getline(stream, line)) {
    const auto record =
        nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (record.is_object() &&
        record.value("step", last_step + 1) <= last_step) {
      kept += line + "\n";
    }
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(std::filesystem::path path, std::int64_t resume_step)
    : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    state::write_text_atomically(path_, lines_until(path_, resume_step));
  }
  stream_.open(path_, std::ios::app);
  if (!stream_) {
    fail(path_.string(), ": cannot be opened for writing");
  }
}

void MetricsLog::append(const StepMetrics& metrics) {
  const nlohmann::ordered_json record{
      {"step", metrics.step},
      {"epoch", metrics.epoch},
      {"loss", metrics.loss},
      {"invariance", metrics.invariance},
      {"redundancy", metrics.redundancy},
      {"learning_rate_weights", metrics.learning_rate_weights},
      {"learning_rate_biases", metrics.learning_rate_biases},
      {"gradient_norm", metrics.gradient_norm},
      {"constant_features", metrics.constant_features},
      {"images_per_s", metrics.images_per_s},
      {"wait_share", metrics.wait_share},
      {"time_s", metrics.time_s}};
  stream_ << record.dump() << "\n" << std::flush;
  if (!stream_) {
    fail(path_.string(), ": cannot be written (is the disk full?)");
  }
}

}  // namespace barlow::train
