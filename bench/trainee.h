// SPDX-License-Identifier: MIT
//
// A small network that trains on one rank's share of the same images forever.

#pragma once

#include <cstdint>
#include <memory>

#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"

namespace barlow::bench {

struct TraineeShape {
  const char* architecture;
  std::int64_t side;
  std::int64_t batch;  ///< of all ranks, a multiple of their number
  const char* projector;
};

class Trainee {
 public:
  Trainee(
      const TraineeShape& shape,
      dist::GradientExchange exchange,
      const dist::ProcessGroup& group);

  void step();

 private:
  train::Recipe recipe_;
  model::BarlowTwins model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  torch::Tensor images_;
  std::unique_ptr<train::TrainingStep> step_;
};

}  // namespace barlow::bench
