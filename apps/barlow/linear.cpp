// SPDX-License-Identifier: MIT

#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

#include "barlow/commands.h"
#include "barlow/encoder_arguments.h"
#include "barlow/eval/linear_probe.h"
#include "barlow/flag_checks.h"
#include "barlow/json_line.h"
#include "barlow/machine.h"

namespace barlow::app {
namespace {

constexpr const char* kDescription =
    "Accuracy of a linear classifier on the features of a frozen encoder: "
    "logistic regression on standardised features of DATA's training part, its "
    "L2 penalty chosen on a tenth of that part, measured on the test part.";

struct LinearArguments {
  EncoderArguments encoder;
  eval::LinearProbeOptions options;
};

int linear(const LinearArguments& arguments) {
  const EvaluationFeatures features = evaluation_features(arguments.encoder);
  const eval::LinearProbeResult result =
      eval::linear_probe(features.train, features.test, arguments.options);
  if (!result.converged) {
    std::ostringstream warning;
    warning << "warning: the classifier stopped after " << result.iterations
            << " iterations with gradient norm " << result.gradient_norm
            << ", above the tolerance " << arguments.options.gradient_tolerance;
    print_error(warning.str());
  }
  if (arguments.encoder.json) {
    nlohmann::ordered_json answer = answer_head("linear", features);
    answer["penalty"] = result.penalty;
    answer["iterations"] = result.iterations;
    answer["converged"] = result.converged;
    answer["train_top1"] = result.train_top1;
    add_accuracy(answer, result.test);
    std::cout << json_line(answer) << std::endl;
  } else {
    std::cout << "linear accuracy " << accuracy_text(result.test)
              << ", on the training part " << std::fixed << std::setprecision(2)
              << 100 * result.train_top1 << " %, penalty " << std::defaultfloat
              << result.penalty << ", features of " << features.weights << " ("
              << features.origin << ")" << std::endl;
  }
  return kExitDone;
}

}  // namespace

void add_linear(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("linear", kDescription);
  auto arguments = std::make_shared<LinearArguments>();
  arguments->encoder.add_to(*command);
  command
      ->add_option(
          "--penalties",
          arguments->options.penalties,
          "L2 penalties to choose from, comma-separated")
      ->delimiter(',')
      ->check(in_range(1e-12, 1e12))
      ->capture_default_str();
  command
      ->add_option(
          "--seed",
          arguments->options.seed,
          "draws the held-out tenth")
      ->check(in_range(0, 1e18))
      ->capture_default_str();
  command->callback([arguments, &action] {
    action = [arguments] {
      return linear(*arguments);
    };
  });
}

}  // namespace barlow::app
