// SPDX-License-Identifier: MIT

#include "train/run_exchange.h"

#include <sstream>

#include <torch/types.h>

namespace barlow::train {

RunProgress share_progress(
    const RunProgress& progress,
    const dist::ProcessGroup& group) {
  std::ostringstream own;
  own.precision(17);
  own << progress.step << " " << progress.time_s << " " << progress.complete;
  std::istringstream text(group.broadcast_text(own.str()));
  RunProgress shared;
  text >> shared.step >> shared.time_s >> shared.complete;
  return shared;
}

StepSignals share_signals(
    const StepSignals& own,
    const dist::ProcessGroup& group) {
  if (group.size() == 1) {
    return own;
  }
  torch::Tensor counts = torch::zeros({2}, torch::kInt64);
  counts[0] = own.stop ? 1 : 0;
  counts[1] = own.failure.empty() ? 0 : 1;
  group.all_reduce_sum_(counts);
  StepSignals shared{.stop = counts[0].item<std::int64_t>() > 0, .failure = ""};
  if (counts[1].item<std::int64_t>() > 0) {
    for (const std::string& failure : group.gather_texts(own.failure)) {
      shared.failure = shared.failure.empty() ? failure : shared.failure;
    }
  }
  return shared;
}

}  // namespace barlow::train
