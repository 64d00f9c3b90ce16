// SPDX-License-Identifier: MIT

#include "barlow/train/metrics.h"

#include <string>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "barlow/core/error.h"
#include "barlow/state/atomic_file.h"

namespace barlow::train {
namespace {

struct OldLines {
  std::string kept;  // those of steps up to the one to resume from
  std::string flaw;  // what is wrong with the file, "" if nothing is
};

OldLines read_lines(const std::filesystem::path& path, std::int64_t last_step) {
  std::error_code error;
  std::ifstream stream(path);
  if (!stream || !std::filesystem::is_regular_file(path, error)) {
    return {.kept = "", .flaw = "cannot be read"};
  }
  OldLines lines;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const auto record =
        nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const auto step = record.is_object() ? record.find("step") : record.end();
    const bool whole = step != record.end() && step->is_number_integer();
    if (whole && step->get<std::int64_t>() <= last_step) {
      lines.kept += line + "\n";
    }
    // A last line without an end is what a killed process leaves.
    if (!whole && !stream.eof() && lines.flaw.empty()) {
      lines.flaw = "line " + std::to_string(number) + " is no step's record";
    }
  }
  return lines;
}

}  // namespace

MetricsLog::MetricsLog(
    std::filesystem::path path,
    std::int64_t resume_step,
    const std::function<void(const std::string&)>& on_warning)
    : path_(std::move(path)) {
  const auto warn = [&](const std::string& text) {
    if (on_warning) {
      on_warning(path_.string() + ": " + text);
    }
  };
  std::error_code error;
  if (std::filesystem::exists(path_, error)) {
    const OldLines old = read_lines(path_, resume_step);
    if (!old.flaw.empty()) {
      const std::filesystem::path aside = state::set_aside(path_);
      warn(
          old.flaw + "; kept as " + aside.filename().string() +
          ", and the log goes on with the lines that can be read");
    }
    state::write_text_atomically(path_, old.kept);
  } else if (resume_step > 0) {
    warn(
        "is missing; the log begins again after step " +
        std::to_string(resume_step));
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
