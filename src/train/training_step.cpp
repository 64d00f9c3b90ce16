// SPDX-License-Identifier: MIT

#include "barlow/train/training_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "barlow/core/error.h"
#include "barlow/data/sampler.h"
#include "barlow/model/autocast.h"
#include "barlow/model/layers.h"
#include "barlow/model/micro_batch_statistics.h"

namespace barlow::train {
namespace {

// Autocast where it is wanted.
class MixedPrecision {
 public:
  MixedPrecision(Precision precision, torch::Device device) {
    if (precision == Precision::kBFloat16) {
      autocast_.emplace(device.type(), torch::kBFloat16);
    }
  }

 private:
  std::optional<model::AutocastScope> autocast_;
};

// Pieces' sizes differ by at most one.
torch::Tensor
rows_of(const torch::Tensor& all, std::int64_t piece, std::int64_t pieces) {
  const data::Slice rows = data::rank_slice(
      all.size(0),
      static_cast<int>(piece),
      static_cast<int>(pieces));
  return all.narrow(0, rows.begin, rows.size());
}

// The sign of a NaN means nothing.
std::string number_text(double x) {
  std::ostringstream text;
  text << (std::isnan(x) ? std::abs(x) : x);
  return text.str();
}

}  // namespace

TrainingStep::TrainingStep(
    model::BarlowTwins model,
    optim::Optimizer& optimizer,
    const TrainingStepOptions& options,
    const dist::ProcessGroup& group)
    : model_(std::move(model)),
      optimizer_(optimizer),
      options_(options),
      group_(group),
      loss_group_(
          options.correlation == Correlation::kGlobal ? group
                                                      : dist::ProcessGroup()),
      device_(model_->parameters().front().device()),
      averager_(model_->parameters(), group, options.exchange) {
  model::synchronize_batch_norm(*model_, group);
}

TrainingStepResult TrainingStep::run(
    const torch::Tensor& view_a,
    const torch::Tensor& view_b,
    const optim::LearningRates& rates) {
  optimizer_.zero_grad();
  const std::int64_t pieces = count_pieces(view_a.size(0));
  TrainingStepResult result = pieces == 1 ? differentiate(view_a, view_b)
                                          : replay(view_a, view_b, pieces);
  result.gradient_norm = gradient_norm();
  if (!std::isfinite(result.gradient_norm)) {
    fail<DivergedError>(
        "the gradient's norm is ",
        number_text(result.gradient_norm),
        " (of the loss ",
        result.loss,
        ")");
  }
  optimizer_.step(rates);
  return result;
}

// Gradients of the whole batch, averaged over ranks.
TrainingStepResult TrainingStep::differentiate(
    const torch::Tensor& view_a,
    const torch::Tensor& view_b) {
  const auto embed_twice = [&] {
    const MixedPrecision scope(options_.precision, device_);
    return model_->forward(view_a.to(device_), view_b.to(device_));
  };
  const auto [z_a, z_b] = embed_twice();
  const BarlowTwinsLoss loss =
      barlow_twins_loss(z_a, z_b, options_.loss, loss_group_);
  const TrainingStepResult result = read(loss);
  averager_.begin();
  (loss.total * options_.loss_scale).backward();
  averager_.finish();
  return result;
}

// The same, with activations of one piece at a time.
TrainingStepResult TrainingStep::replay(
    const torch::Tensor& view_a,
    const torch::Tensor& view_b,
    std::int64_t pieces) {
  const torch::Tensor z_a = embed_without_graph(view_a, pieces);
  const torch::Tensor z_b = embed_without_graph(view_b, pieces);
  const BarlowTwinsLoss loss =
      barlow_twins_loss(z_a, z_b, options_.loss, loss_group_);
  const TrainingStepResult result = read(loss);
  (loss.total * options_.loss_scale).backward();

  const model::RunningStatisticsScope keep(
      *model_,
      model::RunningStatistics::kKeep);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const auto backward = [&](const torch::Tensor& view,
                              const torch::Tensor& z) {
      embed_piece(view, piece, pieces)
          .backward(rows_of(z.grad(), piece, pieces));
    };
    backward(view_a, z_a);
    if (piece + 1 == pieces) {
      averager_.begin();
    }
    backward(view_b, z_b);
  }
  averager_.finish();
  return result;
}

// Equal on all ranks, which go through their batch norms together: that of the
// rank with the most rows.
std::int64_t TrainingStep::count_pieces(std::int64_t rows) const {
  if (options_.micro_batch == 0) {
    return 1;
  }
  const std::vector<std::int64_t> counts = group_.gather_counts(rows);
  const std::int64_t most = *std::max_element(counts.begin(), counts.end());
  const std::int64_t size = options_.micro_batch;
  return std::max<std::int64_t>(1, (most + size - 1) / size);
}

torch::Tensor TrainingStep::embed_without_graph(
    const torch::Tensor& view,
    std::int64_t pieces) {
  const torch::NoGradGuard no_grad;
  model::MicroBatchStatistics statistics(*model_);
  std::vector<torch::Tensor> parts;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    parts.push_back(embed_piece(view, piece, pieces));
    statistics.add();
  }
  statistics.finish();
  return torch::cat(parts).set_requires_grad(true);
}

torch::Tensor TrainingStep::embed_piece(
    const torch::Tensor& view,
    std::int64_t piece,
    std::int64_t pieces) {
  // Its own scope: casts of the weights made without a graph, or for a graph
  // that is gone, are not to be used again.
  const MixedPrecision scope(options_.precision, device_);
  return model_->embed(rows_of(view, piece, pieces).to(device_));
}

TrainingStepResult TrainingStep::read(const BarlowTwinsLoss& loss) const {
  torch::Tensor terms = torch::stack(
      {loss.total.detach().to(torch::kFloat64),
       loss.invariance.to(torch::kFloat64),
       loss.redundancy.to(torch::kFloat64),
       loss.constant_features.to(torch::kFloat64)});
  if (options_.correlation == Correlation::kPerRank) {
    group_.all_reduce_sum_(terms);
    terms.div_(group_.size());
  }
  terms = terms.cpu();
  const double* values = terms.data_ptr<double>();
  if (!std::isfinite(values[0])) {
    fail<DivergedError>(
        "the loss is ",
        number_text(values[0]),
        " (invariance ",
        number_text(values[1]),
        ", redundancy ",
        number_text(values[2]),
        ")");
  }
  return {
      .loss = values[0],
      .invariance = values[1],
      .redundancy = values[2],
      .constant_features = std::llround(values[3])};
}

// Not Tensor::norm: LibTorch 1.13's float32 sum on the CPU is off by up to some
// percent for tensors of tens of millions of numbers.
double TrainingStep::gradient_norm() const {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> squares;
  for (const torch::Tensor& parameter : model_->parameters()) {
    if (parameter.grad().defined()) {
      squares.push_back(parameter.grad().square().sum());
    }
  }
  return std::sqrt(torch::stack(squares).sum(torch::kFloat64).item<double>());
}

}  // namespace barlow::train
