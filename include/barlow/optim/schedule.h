// SPDX-License-Identifier: MIT
//
// Learning rates as a pure function of the step, so that a resumed run needs no
// state to continue them.

#pragma once

#include <cstdint>

namespace barlow::optim {

/// The rates of one step, of the two groups of parameters.
struct LearningRates {
  double weights = 0.0;
  double biases = 0.0;
};

/// Linear warm-up, then a cosine from 1 to `final_factor`, as in the authors'
/// code. With T = total_steps, S = warmup_steps, f = final_factor:
///
///     step < S        step / S
///     S <= step < T   q + f (1 - q),
///                     q = (1 + cos(pi (step - S) / (T - S))) / 2
///     T <= step       f
///
/// So step 0 has factor 0 where S > 0, step S has 1, and f itself is only
/// approached at step T - 1, the last.
///
/// Throws c10::ValueError unless 0 <= step, 0 <= S <= T and 1 <= T.
[[nodiscard]] double warmup_cosine(
    std::int64_t step,
    std::int64_t total_steps,
    std::int64_t warmup_steps,
    double final_factor = 1e-3);

/// The schedule of a run: base rates, reached at the end of the warm-up, times
/// `warmup_cosine`. The published base rates are per 256 images of the global
/// batch; whoever fills this in has multiplied them by batch / 256.
struct LearningRateSchedule {
  LearningRates base;
  std::int64_t total_steps = 1;   ///< >= 1
  std::int64_t warmup_steps = 0;  ///< in [0, total_steps]
  double final_factor = 1e-3;     ///< last rate over base rate

  /// The rates of step 0, 1, ... Errors as `warmup_cosine`.
  [[nodiscard]] LearningRates at(std::int64_t step) const;
};

}  // namespace barlow::optim
