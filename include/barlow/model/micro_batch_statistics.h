// SPDX-License-Identifier: MIT
//
// Running statistics of a batch that passes in pieces.

#pragma once

#include <vector>

#include <torch/nn/module.h>
#include <torch/types.h>

#include "barlow/model/layers.h"

namespace barlow::model {

/// Lets a batch pass through a module's batch norms in micro-batches and moves
/// their running statistics once, as for one batch:
///
///     MicroBatchStatistics statistics(*model);
///     for (piece : batch) { model->forward(piece); statistics.add(); }
///     statistics.finish();
///
/// running <- (1 - momentum) running + momentum * mean of the pieces' own.
/// Pieces are expected to be of about equal size. Until finish, or the end of
/// its life, the buffers hold a piece's statistics; without finish they become
/// what they were.
/// Thread-compatible.
class MicroBatchStatistics {
 public:
  /// `module` must outlive this, and be in training mode.
  explicit MicroBatchStatistics(torch::nn::Module& module);
  MicroBatchStatistics(const MicroBatchStatistics&) = delete;
  MicroBatchStatistics& operator=(const MicroBatchStatistics&) = delete;
  MicroBatchStatistics(MicroBatchStatistics&&) = delete;
  MicroBatchStatistics& operator=(MicroBatchStatistics&&) = delete;
  ~MicroBatchStatistics();

  /// After each piece's forward pass.
  void add();

  void finish();

 private:
  struct Entry {
    BatchNormImpl* norm = nullptr;
    torch::Tensor mean_before;
    torch::Tensor var_before;
    torch::Tensor mean_sum;  // float64
    torch::Tensor var_sum;   // float64
  };

  void restore();

  std::vector<Entry> entries_;
  int pieces_ = 0;
  bool finished_ = false;
};

/// Sets how the batch norms of `module` treat their running statistics, and
/// back to kUpdate at the end of its life.
class RunningStatisticsScope {
 public:
  RunningStatisticsScope(torch::nn::Module& module, RunningStatistics use);
  RunningStatisticsScope(const RunningStatisticsScope&) = delete;
  RunningStatisticsScope& operator=(const RunningStatisticsScope&) = delete;
  RunningStatisticsScope(RunningStatisticsScope&&) = delete;
  RunningStatisticsScope& operator=(RunningStatisticsScope&&) = delete;
  ~RunningStatisticsScope();

 private:
  std::vector<BatchNormImpl*> norms_;
};

}  // namespace barlow::model
