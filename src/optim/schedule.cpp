// SPDX-License-Identifier: MIT

#include "barlow/optim/schedule.h"

#include <cmath>
#include <numbers>

#include <c10/util/Exception.h>

namespace barlow::optim {

double warmup_cosine(
    std::int64_t step,
    std::int64_t total_steps,
    std::int64_t warmup_steps,
    double final_factor) {
  TORCH_CHECK_VALUE(
      step >= 0 && total_steps >= 1 && warmup_steps >= 0 &&
          warmup_steps <= total_steps,
      "warmup_cosine: expected step >= 0 and 0 <= warmup_steps <= total_steps, "
      "got step ",
      step,
      ", warmup_steps ",
      warmup_steps,
      ", total_steps ",
      total_steps);
  if (step >= total_steps) {
    return final_factor;
  }
  if (step < warmup_steps) {
    return static_cast<double>(step) / static_cast<double>(warmup_steps);
  }
  const double progress = static_cast<double>(step - warmup_steps) /
                          static_cast<double>(total_steps - warmup_steps);
  const double q = 0.5 * (1 + std::cos(std::numbers::pi * progress));
  return q + final_factor * (1 - q);
}

LearningRates LearningRateSchedule::at(std::int64_t step) const {
  const double factor =
      warmup_cosine(step, total_steps, warmup_steps, final_factor);
  return {base.weights * factor, base.biases * factor};
}

}  // namespace barlow::optim
