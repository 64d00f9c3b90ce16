// SPDX-License-Identifier: MIT

#include <atomic>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include <c10/util/Exception.h>

#include "barlow/commands.h"
#include "barlow/core/error.h"
#include "barlow/data/dataset.h"
#include "barlow/dist/connect.h"
#include "barlow/flag_checks.h"
#include "barlow/machine.h"
#include "barlow/progress.h"
#include "barlow/ranks.h"
#include "barlow/recipe_flags.h"
#include "barlow/signals.h"
#include "barlow/train/run_folder.h"
#include "barlow/train/setup.h"
#include "barlow/train/trainer.h"

namespace barlow::app {
namespace {

constexpr const char* kDescription =
    "Pretrain an encoder on the images in DATA, without labels.\n\n"
    "DATA: a folder of images (flat, nested, or class folders, with or without "
    "train/ and val/), of IDX files (MNIST family, .gz too) or of CIFAR binary "
    "files.\n"
    "OUT receives recipe.toml, metrics.jsonl, checkpoints/ and, at the end, "
    "backbone.safetensors. If it holds a run already, that run continues to "
    "the same bits as if it had never stopped. SIGINT, SIGTERM and SIGHUP "
    "finish the step, save and exit with 75.\n\n"
    "Several devices: --ranks W starts W ranks here; started by torchrun, "
    "mpirun or srun, the command finds its rank itself. Any number of ranks "
    "computes the same training, and can continue it; only rank 0 uses OUT.\n\n"
    "Every recipe key is a flag below and also --set key=value.";

struct PretrainArguments {
  std::string data;
  std::string out;
  RecipeFlags recipe;
  RankFlags ranks;
};

train::Recipe effective_recipe(const PretrainArguments& arguments) {
  if (arguments.recipe.has_recipe()) {
    return arguments.recipe.resolve({});
  }
  return arguments.recipe.resolve(
      train::recipe_of_run(arguments.out).value_or(train::Recipe()));
}

// Of rank 0: what a user watches.
train::TrainerEvents printing_events(
    Progress& progress,
    const std::string& recipe) {
  train::TrainerEvents events;
  events.on_start = [&progress, recipe](const train::RunPlan& plan) {
    std::cout << recipe << std::endl;
    progress.start(plan);
  };
  events.on_step = [&progress](const train::StepMetrics& metrics) {
    progress.step(metrics);
  };
  events.on_warning = [&progress](const std::string& warning) {
    progress.finish_line();
    print_error("warning: " + warning);
  };
  return events;
}

int report(train::TrainOutcome outcome, const std::string& run) {
  switch (outcome) {
    case train::TrainOutcome::kInterrupted:
      std::cout << "interrupted and saved; the same command goes on from here"
                << std::endl;
      return kExitInterrupted;
    case train::TrainOutcome::kAlreadyComplete:
      std::cout << "this run is already complete: " << run
                << "/backbone.safetensors" << std::endl;
      return kExitDone;
    case train::TrainOutcome::kComplete:
      break;
  }
  std::cout << "done: " << run << "/backbone.safetensors" << std::endl;
  return kExitDone;
}

// One rank, or the only process.
int train_here(
    const PretrainArguments& arguments,
    const train::Recipe& recipe,
    const dist::Rendezvous& rendezvous) {
  const auto dataset = data::open_dataset(arguments.data, data::Split::kTrain);
  const int threads = set_threads(recipe.threads, rendezvous.local_size);
  const torch::Device device =
      train::select_device(recipe.device, rendezvous.local_rank);
  const std::atomic<bool>& stop = stop_on_signals();
  const bool first = rendezvous.rank == 0;
  std::ostringstream told;
  told << "# effective recipe, also in " << arguments.out << "/recipe.toml\n"
       << train::recipe_to_toml(recipe) << "\n"
       << threads << " threads of tensor operations, " << recipe.workers
       << " workers for data, each rank";
  if (first) {
    warn_about_slow_blas();
  }
  const dist::ProcessGroup group =
      dist::connect(rendezvous, arguments.ranks.connect_options(device));
  Progress progress;
  const train::TrainOutcome outcome = train::train(
      *dataset,
      recipe,
      arguments.out,
      printing_events(progress, told.str()),
      stop,
      group);
  progress.finish_line();
  if (first) {
    return report(outcome, arguments.out);
  }
  return outcome == train::TrainOutcome::kInterrupted ? kExitInterrupted
                                                      : kExitDone;
}

int pretrain(const PretrainArguments& arguments) {
  const train::Recipe recipe = effective_recipe(arguments);
  if (arguments.ranks.launches()) {
    // What is wrong with the recipe or the data is said once, not by each rank.
    train::check_recipe(recipe);
    static_cast<void>(data::open_dataset(arguments.data, data::Split::kTrain));
    return launch_ranks(arguments.ranks.ranks());
  }
  const auto rendezvous = arguments.ranks.rendezvous();
  if (!rendezvous) {
    return train_here(arguments, recipe, {});
  }
  try {
    return train_here(arguments, recipe, *rendezvous);
  } catch (const UsageError& error) {
    fail<UsageError>(name_rank(*rendezvous, error.what()));
  } catch (const c10::Error& error) {
    fail(name_rank(*rendezvous, error.what_without_backtrace()));
  } catch (const std::exception& error) {
    fail(name_rank(*rendezvous, error.what()));
  }
}

}  // namespace

void add_pretrain(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("pretrain", kDescription);
  auto arguments = std::make_shared<PretrainArguments>();
  command->add_option("DATA", arguments->data, "the images")->required();
  command->add_option("-o,--out", arguments->out, "folder of the run")
      ->type_name("RUN")
      ->check(not_empty())
      ->required();
  arguments->ranks.add_to(*command);
  arguments->recipe.add_to(*command, KeyFlags::kAll);
  command->callback([arguments, &action] {
    action = [arguments] {
      return pretrain(*arguments);
    };
  });
}

}  // namespace barlow::app
