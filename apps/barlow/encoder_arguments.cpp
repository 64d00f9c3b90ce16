// SPDX-License-Identifier: MIT

#include "barlow/encoder_arguments.h"

#include <filesystem>
#include <iomanip>
#include <optional>
#include <sstream>

#include "barlow/core/error.h"
#include "barlow/data/dataset.h"
#include "barlow/data/eval_loader.h"
#include "barlow/flag_checks.h"
#include "barlow/machine.h"
#include "barlow/train/run_folder.h"
#include "barlow/train/trained_encoder.h"

namespace barlow::app {
namespace {

std::string data_path(const EncoderArguments& arguments) {
  return arguments.paths.back();
}

// The first of two paths, or --weights where it names a file.
std::string encoder_path(const EncoderArguments& arguments) {
  const bool baseline =
      arguments.weights == "raw" || arguments.weights == "random";
  if (arguments.paths.size() == 2) {
    if (!arguments.weights.empty() && !baseline) {
      fail<UsageError>(
          "found both ",
          arguments.paths.front(),
          " and --weights ",
          arguments.weights,
          ", expected one encoder");
    }
    return arguments.paths.front();
  }
  return baseline ? "" : arguments.weights;
}

std::optional<train::Recipe> explicit_recipe(
    const EncoderArguments& arguments) {
  if (!arguments.recipe.has_recipe() && !arguments.recipe.has_settings()) {
    return std::nullopt;
  }
  return arguments.recipe.resolve({});
}

// How images are prepared for a baseline, which has no weights to carry it.
train::Recipe baseline_recipe(const EncoderArguments& arguments) {
  const std::string path = encoder_path(arguments);
  train::Recipe base;
  if (!path.empty()) {
    base = train::load_encoder(path, explicit_recipe(arguments)).recipe;
  } else if (!arguments.recipe.has_recipe()) {
    fail<UsageError>(
        "--weights ",
        arguments.weights,
        " needs to know how to prepare the images: give a RUN before DATA, or "
        "--recipe");
  }
  return arguments.recipe.resolve(base);
}

train::TrainedEncoder select_encoder(const EncoderArguments& arguments) {
  if (arguments.weights == "random") {
    return train::untrained_encoder(baseline_recipe(arguments));
  }
  if (arguments.weights == "raw") {
    train::TrainedEncoder none;
    none.recipe = baseline_recipe(arguments);
    none.origin = "pixels";
    return none;
  }
  const std::string path = encoder_path(arguments);
  if (path.empty()) {
    fail<UsageError>(
        "found only ",
        data_path(arguments),
        ", expected an encoder (RUN or WEIGHTS) before DATA, or --weights");
  }
  return train::load_encoder(path, explicit_recipe(arguments));
}

eval::Features features_of(
    const EncoderArguments& arguments,
    const train::TrainedEncoder& encoder,
    const data::Dataset& dataset) {
  const train::Recipe& recipe = encoder.recipe;
  data::EvalLoader loader(
      dataset,
      {.batch_size = arguments.batch_size,
       .workers = static_cast<int>(arguments.workers),
       .channels = static_cast<int>(recipe.channels),
       .resize_px = static_cast<int>(recipe.eval_resize),
       .crop_px = static_cast<int>(recipe.eval_crop),
       .normalization = recipe.normalization});
  const auto next = [&loader] {
    return loader.next();
  };
  if (encoder.backbone.is_empty()) {
    return eval::extract_features(
        [](const torch::Tensor& images) { return images.flatten(1); },
        next,
        loader.size());
  }
  model::ResNet backbone = encoder.backbone;
  return eval::extract_frozen_features(
      *backbone,
      [&](const torch::Tensor& images) { return backbone->forward(images); },
      next,
      loader.size());
}

}  // namespace

void EncoderArguments::add_to(CLI::App& command) {
  command
      .add_option(
          "PATHS",
          paths,
          "RUN or a file of weights, then DATA, labelled, with a training and "
          "a test part; DATA alone with --weights and --recipe")
      ->type_name("[RUN|WEIGHTS] DATA")
      ->required()
      ->expected(1, 2);
  command
      .add_option(
          "--weights",
          weights,
          "raw: pixels instead of an encoder; random: the encoder untrained; "
          "or a file of weights")
      ->type_name("raw|random|FILE");
  recipe.add_to(command, KeyFlags::kNone);
  command.add_option("--batch-size", batch_size, "images encoded at a time")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--threads", threads, "0: the cores of this process")
      ->check(in_range(0, 4096))
      ->capture_default_str();
  command.add_option("--workers", workers, "threads that decode images")
      ->check(in_range(0, 1024))
      ->capture_default_str();
  command.add_flag("--json", json, "one JSON object on stdout");
}

EvaluationFeatures evaluation_features(const EncoderArguments& arguments) {
  const train::TrainedEncoder encoder = select_encoder(arguments);
  const auto train_set =
      data::open_dataset(data_path(arguments), data::Split::kTrain);
  const auto test_set =
      data::open_dataset(data_path(arguments), data::Split::kTest);
  data::require_same_classes(*train_set, *test_set, data_path(arguments));
  set_threads(arguments.threads);
  warn_about_slow_blas();
  EvaluationFeatures features;
  features.train = features_of(arguments, encoder, *train_set);
  features.test = features_of(arguments, encoder, *test_set);
  features.class_names = train_set->class_names();
  features.weights = arguments.weights == "raw" || arguments.weights == "random"
                         ? arguments.weights
                         : "trained";
  features.origin = encoder.origin;
  return features;
}

nlohmann::ordered_json answer_head(
    const char* command,
    const EvaluationFeatures& features) {
  return {
      {"command", command},
      {"weights", features.weights},
      {"origin", features.origin},
      {"train_images", features.train.features.size(0)},
      {"test_images", features.test.features.size(0)},
      {"feature_size", features.train.features.size(1)},
      {"classes", features.class_names.size()}};
}

void add_accuracy(
    nlohmann::ordered_json& answer,
    const eval::Accuracy& accuracy) {
  answer["top1"] = accuracy.top1;
  if (accuracy.top5) {
    answer["top5"] = *accuracy.top5;
  }
}

std::string accuracy_text(const eval::Accuracy& accuracy) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(2) << 100 * accuracy.top1 << " %";
  if (accuracy.top5) {
    text << " (top 5: " << 100 * *accuracy.top5 << " %)";
  }
  return text.str();
}

}  // namespace barlow::app
