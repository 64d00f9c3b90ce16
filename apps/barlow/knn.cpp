// SPDX-License-Identifier: MIT

#include "barlow/eval/knn.h"

#include <iostream>
#include <memory>

#include "barlow/commands.h"
#include "barlow/encoder_arguments.h"
#include "barlow/flag_checks.h"
#include "barlow/json_line.h"

namespace barlow::app {
namespace {

constexpr const char* kDescription =
    "Accuracy of a weighted k-nearest-neighbour classifier on the features of "
    "a frozen encoder: cosine similarity, votes weighted by "
    "exp(similarity / temperature) (Wu et al. 2018). The bank is DATA's "
    "training part, the queries its test part.";

struct KnnArguments {
  EncoderArguments encoder;
  eval::KnnOptions options;
};

int knn(const KnnArguments& arguments) {
  const EvaluationFeatures features = evaluation_features(arguments.encoder);
  const eval::KnnResult result =
      eval::weighted_knn(features.train, features.test, arguments.options);
  if (arguments.encoder.json) {
    nlohmann::ordered_json answer = answer_head("knn", features);
    answer["k"] = arguments.options.k;
    answer["temperature"] = arguments.options.temperature;
    add_accuracy(answer, result.accuracy);
    std::cout << json_line(answer) << std::endl;
  } else {
    std::cout << "k-NN accuracy " << accuracy_text(result.accuracy)
              << ", k = " << arguments.options.k << ", features of "
              << features.weights << " (" << features.origin << ")"
              << std::endl;
  }
  return kExitDone;
}

}  // namespace

void add_knn(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("knn", kDescription);
  auto arguments = std::make_shared<KnnArguments>();
  arguments->encoder.add_to(*command);
  command->add_option("-k", arguments->options.k, "neighbours that vote")
      ->check(in_range(1, 1e6))
      ->capture_default_str();
  command
      ->add_option(
          "--temperature",
          arguments->options.temperature,
          "smaller: nearer neighbours weigh more")
      ->check(in_range(1e-4, 1e4))
      ->capture_default_str();
  command->callback([arguments, &action] {
    action = [arguments] {
      return knn(*arguments);
    };
  });
}

}  // namespace barlow::app
