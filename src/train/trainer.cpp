// SPDX-License-Identifier: MIT

#include "barlow/train/trainer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "barlow/dist/named_tensors.h"
#include "barlow/loss/planner.h"
#include "barlow/model/named_state.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "train/agreement.h"
#include "train/fingerprint.h"
#include "train/run_files.h"

namespace barlow::train {
namespace {

constexpr const char* kModelPrefix = "model.";
constexpr const char* kOptimizerPrefix = "optimizer.";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void add_prefixed(
    NamedTensors& all,
    const std::string& prefix,
    const NamedTensors& part) {
  for (const auto& [name, tensor] : part) {
    all.emplace(prefix + name, tensor);
  }
}

NamedTensors take_prefixed(const NamedTensors& all, const std::string& prefix) {
  NamedTensors part;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(prefix)) {
      part.emplace(name.substr(prefix.size()), tensor);
    }
  }
  return part;
}

// Rank 0's, which alone reads the folder.
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

template <class Function, class... Args>
void call(const Function& function, const Args&... args) {
  if (function) {
    function(args...);
  }
}

class Run {
 public:
  Run(const data::Dataset& dataset,
      const Recipe& recipe,
      const std::filesystem::path& folder,
      const TrainerEvents& events,
      const dist::ProcessGroup& group)
      : recipe_(recipe),
        events_(group.rank() == 0 ? events : TrainerEvents()),
        group_(group),
        device_(select_device(recipe.device, group.local_rank())),
        loader_(dataset, loader_options(recipe, group)),
        steps_per_epoch_(loader_.steps_per_epoch()),
        total_steps_(steps_per_epoch_ * recipe.epochs),
        model_(make_model(recipe, device_)),
        optimizer_(make_optimizer(recipe, model_)) {
    const std::string fingerprint = dataset_fingerprint(dataset);
    require_same_run(recipe_, fingerprint, group_);
    if (group_.rank() == 0) {
      // Only now: a refused recipe or data set leaves no folder.
      files_ = std::make_unique<RunFiles>(
          folder,
          RunIdentity{recipe_, fingerprint, group_.size()});
    }
    resume();
    training_step_ = std::make_unique<TrainingStep>(
        model_,
        *optimizer_,
        training_step_options(recipe_),
        group_);
    if (files_) {
      files_->write_recipe();
    }
    call(events_.on_start, plan(dataset.size()));
  }

  TrainOutcome run(const std::atomic<bool>& stop) {
    if (progress_.step == total_steps_ && progress_.complete) {
      return TrainOutcome::kAlreadyComplete;
    }
    std::optional<MetricsLog> log;
    if (files_) {
      log.emplace(files_->paths().metrics, progress_.step);
    }
    loader_.start(progress_.step);
    while (progress_.step < total_steps_) {
      const StepMetrics metrics = one_step();
      const std::int64_t step = progress_.step;
      const bool last = step == total_steps_;
      if (log && (step % recipe_.log_every_steps == 0 || last)) {
        log->append(metrics);
      }
      call(events_.on_step, metrics);
      const bool stopping = any_rank(stop.load()) && !last;
      if (stopping || last || checkpoint_due()) {
        save();
      }
      if (stopping) {
        return TrainOutcome::kInterrupted;
      }
    }
    if (files_) {
      files_->save_backbone(
          model::named_state(*model_->backbone()),
          progress_.step);
    }
    return TrainOutcome::kComplete;
  }

 private:
  // From rank 0's newest checkpoint, or its initial weights: whatever the other
  // ranks had, all now have the same.
  void resume() {
    NamedTensors tensors = training_tensors();
    if (files_) {
      auto saved = files_->load([&](const std::string& warning) {
        call(events_.on_warning, warning);
      });
      if (saved) {
        tensors = std::move(saved->tensors);
        progress_ = saved->progress;
      }
    }
    progress_ = share_progress(progress_, group_);
    if (progress_.step == 0 && group_.size() == 1) {
      return;
    }
    tensors = dist::broadcast_named_tensors(tensors, group_);
    model::load_state(*model_, take_prefixed(tensors, kModelPrefix));
    optimizer_->load_state(take_prefixed(tensors, kOptimizerPrefix));
  }

  // The model's and the optimiser's, sharing memory with them.
  [[nodiscard]] NamedTensors training_tensors() const {
    NamedTensors tensors;
    add_prefixed(tensors, kModelPrefix, model::named_state(*model_));
    add_prefixed(tensors, kOptimizerPrefix, optimizer_->state());
    return tensors;
  }

  RunPlan plan(std::int64_t images) const {
    RunPlan plan;
    plan.images = images;
    plan.steps_per_epoch = steps_per_epoch_;
    plan.total_steps = total_steps_;
    plan.first_step = progress_.step;
    plan.embedding_size = model_->embedding_dim();
    plan.parameters = model::count_parameters(*model_);
    plan.ranks = group_.size();
    plan.device = device_.str();
    plan.loss_path = loss_path_name();
    return plan;
  }

  [[nodiscard]] std::string loss_path_name() const {
    const bool global = recipe_.correlation == Correlation::kGlobal;
    const std::int64_t ranks = group_.size();
    const std::int64_t rows = (recipe_.batch_size + ranks - 1) / ranks;
    const LossShape shape{
        .samples = global ? recipe_.batch_size : rows,
        .features = model_->embedding_dim(),
        .ranks = global ? ranks : 1,
        .rows_per_rank = rows};
    return plan_loss_path(shape, recipe_.loss.path).path ==
                   LossPath::kSampleSpace
               ? "sample space"
               : "feature space";
  }

  StepMetrics one_step() {
    const auto start = std::chrono::steady_clock::now();
    const double waited_before = loader_.seconds_waiting();
    const data::TwoViewBatch batch = loader_.next();
    const double waited = loader_.seconds_waiting() - waited_before;
    const optim::LearningRates rates =
        learning_rates(recipe_, progress_.step, steps_per_epoch_);
    const TrainingStepResult result =
        training_step_->run(batch.view_a, batch.view_b, rates);
    ++progress_.step;
    const double elapsed = seconds_since(start);
    return {
        .step = progress_.step,
        .epoch = batch.epoch,
        .loss = result.loss,
        .invariance = result.invariance,
        .redundancy = result.redundancy,
        .learning_rate_weights = rates.weights,
        .learning_rate_biases = rates.biases,
        .gradient_norm = result.gradient_norm,
        .constant_features = result.constant_features,
        .images_per_s = static_cast<double>(batch.global_size) / elapsed,
        .wait_share = waited / elapsed,
        .time_s = time_s()};
  }

  // A signal reaches ranks at different times; all must leave at one step.
  [[nodiscard]] bool any_rank(bool own) const {
    if (group_.size() == 1) {
      return own;
    }
    torch::Tensor count = torch::full({1}, own ? 1 : 0, torch::kInt64);
    group_.all_reduce_sum_(count);
    return count.item<std::int64_t>() > 0;
  }

  [[nodiscard]] bool checkpoint_due() const {
    const std::int64_t every = recipe_.checkpoint_every_steps > 0
                                   ? recipe_.checkpoint_every_steps
                                   : steps_per_epoch_;
    return progress_.step % every == 0;
  }

  void save() {
    if (files_) {
      call(
          events_.on_checkpoint,
          files_->save(
              {.tensors = training_tensors(),
               .progress = {.step = progress_.step, .time_s = time_s()}}));
    }
  }

  // Including the processes before this one.
  [[nodiscard]] double time_s() const {
    return progress_.time_s + seconds_since(start_);
  }

  Recipe recipe_;
  TrainerEvents events_;
  dist::ProcessGroup group_;
  torch::Device device_;
  data::TwoViewLoader loader_;
  std::int64_t steps_per_epoch_;
  std::int64_t total_steps_;
  model::BarlowTwins model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<RunFiles> files_;  // rank 0's
  std::unique_ptr<TrainingStep> training_step_;
  RunProgress progress_;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

TrainOutcome train(
    const data::Dataset& dataset,
    const Recipe& recipe,
    const std::filesystem::path& run,
    const TrainerEvents& events,
    const std::atomic<bool>& stop,
    const dist::ProcessGroup& group) {
  try {
    check_recipe(recipe);
    return Run(dataset, recipe, run, events, group).run(stop);
  } catch (const std::exception& error) {
    group.announce_failure(error.what());
    throw;
  }
}

}  // namespace barlow::train
