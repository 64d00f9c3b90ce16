// SPDX-License-Identifier: MIT

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "barlow/commands.h"
#include "barlow/data/dataset.h"
#include "barlow/machine.h"
#include "barlow/progress.h"
#include "barlow/recipe_flags.h"
#include "barlow/signals.h"
#include "barlow/train/run_folder.h"
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
    "the same bits as if it had never stopped. SIGINT and SIGTERM finish the "
    "step, save and exit with 75.\n\n"
    "Every recipe key is a flag below and also --set key=value.";

struct PretrainArguments {
  std::string data;
  std::string out;
  RecipeFlags recipe;
};

train::Recipe effective_recipe(const PretrainArguments& arguments) {
  train::Recipe base;
  const train::RunPaths paths(arguments.out);
  if (!arguments.recipe.has_recipe() && std::filesystem::exists(paths.recipe)) {
    train::read_recipe_file(base, paths.recipe);
  }
  return arguments.recipe.resolve(base);
}

int pretrain(const PretrainArguments& arguments) {
  const train::Recipe recipe = effective_recipe(arguments);
  const auto dataset = data::open_dataset(arguments.data, data::Split::kTrain);
  const int threads = set_threads(recipe.threads);
  warn_about_slow_blas();
  std::cout << "# effective recipe, also in " << arguments.out
            << "/recipe.toml\n"
            << train::recipe_to_toml(recipe) << "\n"
            << threads << " threads of tensor operations, " << recipe.workers
            << " workers for data\n";

  Progress progress;
  train::TrainerEvents events;
  events.on_start = [&](const train::RunPlan& plan) {
    progress.start(plan);
  };
  events.on_step = [&](const train::StepMetrics& m) {
    progress.step(m);
  };
  events.on_warning = [&](const std::string& warning) {
    progress.finish_line();
    std::cerr << "barlow: warning: " << warning << "\n";
  };
  const train::TrainOutcome outcome =
      train::train(*dataset, recipe, arguments.out, events, stop_on_signals());
  progress.finish_line();
  switch (outcome) {
    case train::TrainOutcome::kInterrupted:
      std::cout << "interrupted and saved; the same command goes on from here"
                << std::endl;
      return kExitInterrupted;
    case train::TrainOutcome::kAlreadyComplete:
      std::cout << "this run is already complete: " << arguments.out
                << "/backbone.safetensors" << std::endl;
      return kExitDone;
    case train::TrainOutcome::kComplete:
      break;
  }
  std::cout << "done: " << arguments.out << "/backbone.safetensors"
            << std::endl;
  return kExitDone;
}

}  // namespace

void add_pretrain(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("pretrain", kDescription);
  auto arguments = std::make_shared<PretrainArguments>();
  command->add_option("DATA", arguments->data, "the images")->required();
  command->add_option("-o,--out", arguments->out, "folder of the run")
      ->type_name("RUN")
      ->required();
  arguments->recipe.add_to(*command, KeyFlags::kAll);
  command->callback([arguments, &action] {
    action = [arguments] {
      return pretrain(*arguments);
    };
  });
}

}  // namespace barlow::app
