// SPDX-License-Identifier: MIT

#include "barlow/progress.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <unistd.h>

#include "barlow/core/text.h"

namespace barlow::app {
namespace {

// Rates are averaged over about 20 steps: one step's is too noisy to read.
constexpr double kSmoothing = 0.05;
constexpr double kPlainLineEvery_s = 10;
constexpr double kTerminalLineEvery_s = 0.1;

void smooth(double& average, double value, bool first) {
  average = first ? value : average + kSmoothing * (value - average);
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDOUT_FILENO) == 1) {}

void Progress::start(const train::RunPlan& plan) {
  plan_ = plan;
  last_step_ = Clock::now();
  last_line_ = last_step_;
  std::cout << plan.images << " images, " << plan.steps_per_epoch
            << " steps an epoch, " << plan.total_steps << " in all; "
            << plan.parameters << " parameters on "
            << (plan.ranks > 1 ? std::to_string(plan.ranks) + " ranks of "
                               : std::string())
            << plan.device << "; loss over D = " << plan.embedding_size
            << " in " << plan.loss_path << "\n";
  const train::MemoryNeed& memory = plan.memory;
  std::cout << "memory" << (plan.ranks > 1 ? " of each rank" : "") << ": about "
            << format_bytes(static_cast<double>(memory.total()))
            << " (weights and optimiser "
            << format_bytes(static_cast<double>(memory.weights))
            << ", activations "
            << format_bytes(static_cast<double>(memory.activations))
            << ", loss " << format_bytes(static_cast<double>(memory.loss))
            << ", batches " << format_bytes(static_cast<double>(memory.batches))
            << ")\n";
  if (plan.first_step > 0) {
    std::cout << "resuming after step " << plan.first_step << "\n";
  }
  std::cout << std::flush;
}

void Progress::step(const train::StepMetrics& metrics) {
  const auto now = Clock::now();
  const bool first = metrics.step == plan_.first_step + 1;
  const std::chrono::duration<double> elapsed = now - last_step_;
  smooth(seconds_per_step_, elapsed.count(), first);
  smooth(images_per_s_, metrics.images_per_s, first);
  smooth(wait_share_, metrics.wait_share, first);
  last_step_ = now;

  const std::chrono::duration<double> since_line = now - last_line_;
  const bool epoch_end = metrics.step % plan_.steps_per_epoch == 0;
  const bool due = since_line.count() >=
                   (terminal_ ? kTerminalLineEvery_s : kPlainLineEvery_s);
  if (!first && !due && !epoch_end) {
    return;
  }
  last_line_ = now;
  if (terminal_) {
    std::cout << "\r\033[K" << describe(metrics) << std::flush;
    line_open_ = true;
  } else {
    std::cout << describe(metrics) << std::endl;
  }
}

void Progress::finish_line() {
  if (line_open_) {
    std::cout << std::endl;
    line_open_ = false;
  }
}

std::string Progress::describe(const train::StepMetrics& metrics) const {
  const std::int64_t in_epoch = (metrics.step - 1) % plan_.steps_per_epoch + 1;
  const auto left = static_cast<double>(plan_.total_steps - metrics.step);
  std::array<char, 160> line{};
  std::snprintf(
      line.data(),
      line.size(),
      "epoch %ld/%ld  step %ld/%ld  loss/D %.4f  %.0f images/s  "
      "data wait %.0f %%  ETA %s",
      static_cast<long>(metrics.epoch + 1),
      static_cast<long>(plan_.total_steps / plan_.steps_per_epoch),
      static_cast<long>(in_epoch),
      static_cast<long>(plan_.steps_per_epoch),
      metrics.loss / static_cast<double>(plan_.embedding_size),
      images_per_s_,
      100 * wait_share_,
      format_duration(left * seconds_per_step_).c_str());
  return line.data();
}

}  // namespace barlow::app
