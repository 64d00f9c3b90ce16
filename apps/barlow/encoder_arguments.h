// SPDX-License-Identifier: MIT
//
// What knn and linear have in common: an encoder, a labelled data set, and the
// features of both its parts.

#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>

#include "barlow/eval/accuracy.h"
#include "barlow/eval/features.h"
#include "barlow/recipe_flags.h"

namespace barlow::app {

struct EncoderArguments {
  std::vector<std::string> paths;  ///< [RUN|WEIGHTS] DATA
  std::string weights;             ///< "", "raw", "random" or a file
  RecipeFlags recipe;
  std::int64_t batch_size = 256;
  std::int64_t threads = 0;
  std::int64_t workers = 2;
  bool json = false;

  /// Adds the options to `command`; this object must outlive its parsing.
  void add_to(CLI::App& command);
};

/// Features of the training and the test images, and where they come from.
struct EvaluationFeatures {
  eval::Features train;
  eval::Features test;
  std::vector<std::string> class_names;
  std::string weights;  ///< "trained", "random" or "raw"
  std::string origin;
};

/// Loads the encoder and runs it over both parts of the data set. Pixels, where
/// `weights` is "raw", are the normalised evaluation view of each image.
/// Throws UsageError and Error.
[[nodiscard]] EvaluationFeatures evaluation_features(
    const EncoderArguments& arguments);

/// The fields that both commands' answers begin with.
[[nodiscard]] nlohmann::ordered_json answer_head(
    const char* command,
    const EvaluationFeatures& features);

/// Adds "top1" and, where there are more than five classes, "top5": fractions.
void add_accuracy(
    nlohmann::ordered_json& answer,
    const eval::Accuracy& accuracy);

/// "86.12 % (top 5: 99.10 %)".
[[nodiscard]] std::string accuracy_text(const eval::Accuracy& accuracy);

}  // namespace barlow::app
