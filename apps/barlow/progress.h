// SPDX-License-Identifier: MIT

#pragma once

#include <chrono>
#include <string>

#include "barlow/train/metrics.h"
#include "barlow/train/trainer.h"

namespace barlow::app {

/// Shows a run on stdout: one line that is rewritten on a terminal, a plain
/// line every ten seconds and at each epoch's end elsewhere.
class Progress {
 public:
  Progress();

  void start(const train::RunPlan& plan);
  void step(const train::StepMetrics& metrics);

  /// Ends a line that is being rewritten, so that other text can follow.
  void finish_line();

 private:
  [[nodiscard]] std::string describe(const train::StepMetrics& metrics) const;

  using Clock = std::chrono::steady_clock;
  bool terminal_;
  bool line_open_ = false;
  train::RunPlan plan_;
  double images_per_s_ = 0;
  double seconds_per_step_ = 0;
  double wait_share_ = 0;
  Clock::time_point last_step_;
  Clock::time_point last_line_;
};

}  // namespace barlow::app
