// SPDX-License-Identifier: MIT

#include "barlow/train/trainer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/dist/named_tensors.h"
#include "barlow/model/named_state.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "train/agreement.h"
#include "train/fingerprint.h"
#include "train/prefixed_tensors.h"
#include "train/run_exchange.h"
#include "train/run_files.h"
#include "train/run_plan.h"

namespace barlow::train {
namespace {

constexpr const char* kModelPrefix = "model.";
constexpr const char* kOptimizerPrefix = "optimizer.";

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
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
    RunPlan plan = make_plan(recipe_, model_, group_);
    plan.images = dataset.size();
    plan.steps_per_epoch = steps_per_epoch_;
    plan.total_steps = total_steps_;
    plan.device = device_.str();
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
      files_->write_recipe(warning());
    }
    plan.first_step = progress_.step;
    call(events_.on_start, plan);
  }

  TrainOutcome run(const std::atomic<bool>& stop) {
    if (progress_.step == total_steps_ && progress_.complete) {
      return TrainOutcome::kAlreadyComplete;
    }
    std::optional<MetricsLog> log;
    if (files_) {
      log.emplace(files_->paths().metrics, progress_.step, warning());
    }
    loader_.start(progress_.step);
    const std::int64_t first_step = progress_.step;
    while (progress_.step < total_steps_) {
      const LoadedBatch loaded = load_batch();
      const StepSignals signals =
          share_signals({stop.load(), loaded.failure}, group_);
      if (!signals.failure.empty()) {
        fail_saved(signals.failure);
      }
      // At least one step a start, so that a run under repeated signals ends.
      if (signals.stop && progress_.step > first_step) {
        save_unless_saved();
        return TrainOutcome::kInterrupted;
      }
      const StepMetrics metrics = one_step(loaded);
      const bool last = progress_.step == total_steps_;
      if (log && (progress_.step % recipe_.log_every_steps == 0 || last)) {
        log->append(metrics);
      }
      call(events_.on_step, metrics);
      if (last || checkpoint_due()) {
        save_unless_saved();
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
  [[nodiscard]] OnWarning warning() const {
    return [this](const std::string& text) {
      call(events_.on_warning, text);
    };
  }

  // From rank 0's newest checkpoint, or its initial weights: whatever the other
  // ranks had, all now have the same.
  void resume() {
    NamedTensors tensors = training_tensors();
    if (files_) {
      auto saved = files_->load(warning());
      if (saved) {
        refuse_step_beyond(saved->progress.step);
        tensors = std::move(saved->tensors);
        progress_ = saved->progress;
        saved_step_ = progress_.step;
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

  void refuse_step_beyond(std::int64_t step) const {
    if (step > total_steps_) {
      fail(
          files_->paths().checkpoints.string(),
          ": found a checkpoint of step ",
          step,
          ", expected at most ",
          total_steps_,
          ", this recipe's number of steps");
    }
  }

  // The model's and the optimiser's, sharing memory with them.
  [[nodiscard]] NamedTensors training_tensors() const {
    NamedTensors tensors;
    add_prefixed(tensors, kModelPrefix, model::named_state(*model_));
    add_prefixed(tensors, kOptimizerPrefix, optimizer_->state());
    return tensors;
  }

  struct LoadedBatch {
    std::chrono::steady_clock::time_point start;
    std::optional<data::TwoViewBatch> batch;
    std::string failure;  // why there is none; told to all ranks first
    double waited_s = 0;
  };

  LoadedBatch load_batch() {
    LoadedBatch loaded;
    loaded.start = std::chrono::steady_clock::now();
    const double before = loader_.seconds_waiting();
    try {
      loaded.batch = loader_.next();
    } catch (const std::exception& error) {
      loaded.failure = error.what();
    }
    loaded.waited_s = loader_.seconds_waiting() - before;
    return loaded;
  }

  [[noreturn]] void fail_saved(const std::string& failure) {
    save_unless_saved();
    const std::string so_far =
        progress_.step > 0
            ? "; saved after step " + std::to_string(progress_.step)
            : "";
    fail(
        failure,
        so_far,
        "; repair or replace it, keeping its name, and run the same command "
        "again");
  }

  TrainingStepResult compute(
      const data::TwoViewBatch& batch,
      const optim::LearningRates& rates) {
    try {
      return training_step_->run(batch.view_a, batch.view_b, rates);
    } catch (const DivergedError& error) {
      fail(
          "step ",
          progress_.step + 1,
          ": ",
          error.what(),
          "; lower learning_rate_weights (",
          recipe_.learning_rate_weights,
          ") and learning_rate_biases (",
          recipe_.learning_rate_biases,
          ") or raise warmup_epochs (",
          recipe_.warmup_epochs,
          saved_step_ > 0 ? "), with another --out" : ")");
    }
  }

  StepMetrics one_step(const LoadedBatch& loaded) {
    const data::TwoViewBatch& batch = *loaded.batch;
    const optim::LearningRates rates =
        learning_rates(recipe_, progress_.step, steps_per_epoch_);
    const TrainingStepResult result = compute(batch, rates);
    ++progress_.step;
    const double elapsed = seconds_since(loaded.start);
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
        .wait_share = loaded.waited_s / elapsed,
        .time_s = time_s()};
  }

  [[nodiscard]] bool checkpoint_due() const {
    const std::int64_t every = recipe_.checkpoint_every_steps > 0
                                   ? recipe_.checkpoint_every_steps
                                   : steps_per_epoch_;
    return progress_.step % every == 0;
  }

  void save_unless_saved() {
    if (files_ && progress_.step != saved_step_) {
      call(
          events_.on_checkpoint,
          files_->save(
              {.tensors = training_tensors(),
               .progress = {.step = progress_.step, .time_s = time_s()}}));
    }
    saved_step_ = progress_.step;
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
  std::int64_t saved_step_ = 0;
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
