// SPDX-License-Identifier: MIT

#include "barlow/train/trainer.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "barlow/core/version.h"
#include "barlow/loss/planner.h"
#include "barlow/model/named_state.h"
#include "barlow/state/atomic_file.h"
#include "barlow/state/checkpoint_store.h"
#include "barlow/train/run_folder.h"
#include "barlow/train/setup.h"
#include "barlow/train/training_step.h"
#include "train/fingerprint.h"

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

const std::string& metadata_value(
    const state::TensorFile& checkpoint,
    const std::string& key) {
  const auto entry = checkpoint.metadata.find(key);
  if (entry == checkpoint.metadata.end()) {
    fail("checkpoint without \"", key, "\" in its metadata: not a run's");
  }
  return entry->second;
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
      const TrainerEvents& events)
      : recipe_(recipe),
        events_(events),
        paths_(folder),
        device_(select_device(recipe.device)),
        fingerprint_(dataset_fingerprint(dataset)),
        loader_(dataset, loader_options(recipe)),
        steps_per_epoch_(loader_.steps_per_epoch()),
        total_steps_(steps_per_epoch_ * recipe.epochs),
        lock_(paths_),
        model_(make_model(recipe, device_)),
        optimizer_(make_optimizer(recipe, model_)),
        checkpoints_(paths_.checkpoints, recipe.keep_checkpoints) {
    resume();
    state::write_text_atomically(paths_.recipe, recipe_to_toml(recipe_));
    call(events_.on_start, plan(dataset.size()));
  }

  TrainOutcome run(const std::atomic<bool>& stop) {
    if (step_ == total_steps_ && std::filesystem::exists(paths_.backbone)) {
      return TrainOutcome::kAlreadyComplete;
    }
    MetricsLog log(paths_.metrics, step_);
    loader_.start(step_);
    while (step_ < total_steps_) {
      const StepMetrics metrics = one_step();
      if (step_ % recipe_.log_every_steps == 0 || step_ == total_steps_) {
        log.append(metrics);
      }
      call(events_.on_step, metrics);
      const bool stopping = stop.load() && step_ < total_steps_;
      if (stopping || step_ == total_steps_ || checkpoint_due()) {
        save();
      }
      if (stopping) {
        return TrainOutcome::kInterrupted;
      }
    }
    save_backbone();
    return TrainOutcome::kComplete;
  }

 private:
  void resume() {
    const auto loaded = checkpoints_.load_latest();
    if (!loaded) {
      refuse_other_recipe_without_checkpoint();
      return;
    }
    for (const std::string& warning : loaded->warnings) {
      call(events_.on_warning, warning);
    }
    refuse_another_run(loaded->file);
    model::load_state(
        *model_,
        take_prefixed(loaded->file.tensors, kModelPrefix));
    optimizer_->load_state(
        take_prefixed(loaded->file.tensors, kOptimizerPrefix));
    step_ = loaded->step;
    earlier_s_ = std::stod(metadata_value(loaded->file, "time_s"));
  }

  void refuse_another_run(const state::TensorFile& checkpoint) const {
    Recipe saved;
    read_recipe_text(
        saved,
        metadata_value(checkpoint, "recipe"),
        "the checkpoint's recipe");
    refuse_differences(saved);
    const std::string& fingerprint = metadata_value(checkpoint, "dataset");
    if (fingerprint != fingerprint_) {
      fail(
          paths_.folder.string(),
          ": the run was made on other data: found ",
          fingerprint_,
          ", expected ",
          fingerprint);
    }
  }

  // A run stopped before its first checkpoint has computed nothing worth
  // keeping, but a user who changes the recipe there should be told.
  void refuse_other_recipe_without_checkpoint() const {
    if (!std::filesystem::exists(paths_.recipe)) {
      return;
    }
    Recipe saved;
    read_recipe_file(saved, paths_.recipe);
    refuse_differences(saved);
  }

  void refuse_differences(const Recipe& saved) const {
    const std::vector<std::string> differences =
        resume_differences(saved, recipe_);
    if (!differences.empty()) {
      fail<UsageError>(
          paths_.folder.string(),
          ": holds a run of another recipe (",
          join(differences, "; "),
          "); use its values, or another --out");
    }
  }

  RunPlan plan(std::int64_t images) const {
    RunPlan plan;
    plan.images = images;
    plan.steps_per_epoch = steps_per_epoch_;
    plan.total_steps = total_steps_;
    plan.first_step = step_;
    plan.embedding_size = model_->embedding_dim();
    plan.parameters = model::count_parameters(*model_);
    plan.device = device_.str();
    plan.loss_path = loss_path_name();
    return plan;
  }

  [[nodiscard]] std::string loss_path_name() const {
    const LossShape shape{
        .samples = recipe_.batch_size,
        .features = model_->embedding_dim(),
        .rows_per_rank = recipe_.batch_size};
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
        learning_rates(recipe_, step_, steps_per_epoch_);
    const TrainingStepResult result = training_step(
        model_,
        *optimizer_,
        batch.view_a.to(device_),
        batch.view_b.to(device_),
        rates,
        {.loss = recipe_.loss,
         .loss_scale = recipe_.loss_scale,
         .precision = recipe_.precision});
    ++step_;
    const double elapsed = seconds_since(start);
    return {
        .step = step_,
        .epoch = batch.epoch,
        .loss = result.loss,
        .invariance = result.invariance,
        .redundancy = result.redundancy,
        .learning_rate_weights = rates.weights,
        .learning_rate_biases = rates.biases,
        .gradient_norm = result.gradient_norm,
        .constant_features = result.constant_features,
        .images_per_s = static_cast<double>(batch.images.size()) / elapsed,
        .wait_share = waited / elapsed,
        .time_s = earlier_s_ + seconds_since(start_)};
  }

  [[nodiscard]] bool checkpoint_due() const {
    const std::int64_t every = recipe_.checkpoint_every_steps > 0
                                   ? recipe_.checkpoint_every_steps
                                   : steps_per_epoch_;
    return step_ % every == 0;
  }

  void save() {
    state::TensorFile checkpoint;
    add_prefixed(checkpoint.tensors, kModelPrefix, model::named_state(*model_));
    add_prefixed(checkpoint.tensors, kOptimizerPrefix, optimizer_->state());
    checkpoint.metadata = {
        {"recipe", recipe_to_toml(recipe_)},
        {"dataset", fingerprint_},
        {"step", std::to_string(step_)},
        {"time_s", std::to_string(earlier_s_ + seconds_since(start_))},
        {"barlow_version", kVersion}};
    call(events_.on_checkpoint, checkpoints_.save(step_, checkpoint));
  }

  void save_backbone() const {
    state::write_safetensors(
        paths_.backbone,
        {.tensors = model::named_state(*model_->backbone()),
         .metadata = {
             {"format", "barlow-backbone"},
             {"recipe", recipe_to_toml(recipe_)},
             {"step", std::to_string(step_)},
             {"barlow_version", kVersion}}});
  }

  Recipe recipe_;
  TrainerEvents events_;
  RunPaths paths_;
  torch::Device device_;
  std::string fingerprint_;
  data::TwoViewLoader loader_;
  std::int64_t steps_per_epoch_;
  std::int64_t total_steps_;
  RunLock lock_;  // taken last: a refused recipe or data set leaves no folder
  model::BarlowTwins model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  state::CheckpointStore checkpoints_;
  std::int64_t step_ = 0;
  double earlier_s_ = 0;  // training time of the processes before this one
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace

TrainOutcome train(
    const data::Dataset& dataset,
    const Recipe& recipe,
    const std::filesystem::path& run,
    const TrainerEvents& events,
    const std::atomic<bool>& stop) {
  check_recipe(recipe);
  return Run(dataset, recipe, run, events).run(stop);
}

}  // namespace barlow::train
