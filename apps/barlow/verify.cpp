// SPDX-License-Identifier: MIT

#include "barlow/train/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include <nlohmann/json.hpp>

#include "barlow/commands.h"
#include "barlow/core/text.h"
#include "barlow/dist/connect.h"
#include "barlow/flag_checks.h"
#include "barlow/json_line.h"
#include "barlow/machine.h"
#include "barlow/ranks.h"
#include "barlow/train/setup.h"

namespace barlow::app {
namespace {

constexpr const char* kDescription =
    "Prove on this machine that the number of ranks changes nothing.\n\n"
    "For 1, 2, ... W ranks: the loss and its gradient in float32, by both ways "
    "of computing them and with equal, unequal and empty parts of the batch, "
    "against the formula in float64 on one device; then twenty training steps "
    "against the same steps on one rank. Beside them, how far off the usual "
    "mistakes are. Exit code 1 if a bound is broken.\n"
    "The ranks are threads of this process that communicate through loopback. "
    "Started by torchrun, mpirun or srun, or with --rank, they are those "
    "processes, on their machines.";

struct VerifyArguments {
  RankFlags ranks;
  int most_ranks = 4;
  std::string device = "auto";
  bool json = false;
};

// All that was measured, for every number of ranks.
struct Findings {
  std::vector<train::LossCheck> losses;
  std::vector<train::TrainingCheck> trainings;
  std::vector<train::MistakeCheck> mistakes;
};

bool holds(const train::LossCheck& check) {
  // Written so that NaN fails.
  return check.loss_error <= train::kLossBound &&
         check.gradient_error <= train::kLossBound;
}

bool holds(const train::TrainingCheck& check) {
  const train::TrainingBounds bounds = train::training_bounds(check.type);
  return check.loss_error <= bounds.loss &&
         check.weights_error <= bounds.weights;
}

bool all_hold(const Findings& findings) {
  const auto ok = [](const auto& check) {
    return holds(check);
  };
  return std::all_of(findings.losses.begin(), findings.losses.end(), ok) &&
         std::all_of(findings.trainings.begin(), findings.trainings.end(), ok);
}

void examine(
    const dist::ProcessGroup& group,
    const VerifyArguments& arguments,
    Findings& findings) {
  const torch::Device device =
      train::select_device(arguments.device, group.local_rank());
  const auto losses = train::verify_loss(group, device);
  std::vector<train::TrainingCheck> trainings;
  if (group.size() > 1) {
    for (const auto type : {torch::kFloat64, torch::kFloat32}) {
      trainings.push_back(train::verify_training(group, device, type));
    }
  }
  if (group.rank() != 0) {
    return;
  }
  const auto append = [](auto& all, const auto& part) {
    all.insert(all.end(), part.begin(), part.end());
  };
  append(findings.losses, losses);
  append(findings.trainings, trainings);
  if (group.size() > 1) {
    append(findings.mistakes, train::common_mistakes(group.size()));
  }
}

std::string rows_text(const std::vector<std::int64_t>& rows) {
  std::vector<std::string> parts;
  for (const std::int64_t count : rows) {
    parts.push_back(std::to_string(count));
  }
  return join(parts, "+");
}

const char* path_name(LossPath path) {
  return path == LossPath::kSampleSpace ? "sample" : "feature";
}

const char* type_name(torch::ScalarType type) {
  return type == torch::kFloat64 ? "float64" : "float32";
}

// "12 %" for errors that a person should notice, "-" where there is no answer.
std::string percent(double error) {
  if (std::isnan(error)) {
    return "-";
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%", 100 * error);
  return text.data();
}

void print_losses(const Findings& findings) {
  std::printf(
      "Loss and gradient in float32 against float64 on one device (bound "
      "%.0e)\n\n%6s %6s %6s  %-20s %-8s %9s %9s\n",
      train::kLossBound,
      "N",
      "D",
      "ranks",
      "rows",
      "path",
      "loss",
      "gradient");
  for (const train::LossCheck& check : findings.losses) {
    std::printf(
        "%6ld %6ld %6zu  %-20s %-8s %9.1e %9.1e  %s\n",
        static_cast<long>(check.samples),
        static_cast<long>(check.features),
        check.split.rows.size(),
        rows_text(check.split.rows).c_str(),
        path_name(check.path),
        check.loss_error,
        check.gradient_error,
        holds(check) ? "ok" : "BROKEN");
  }
}

void print_trainings(const Findings& findings) {
  std::printf(
      "\nTwenty training steps of a small ResNet against one rank\n\n"
      "%6s  %-8s %9s %9s  %s\n",
      "ranks",
      "type",
      "loss",
      "weights",
      "bounds");
  for (const train::TrainingCheck& check : findings.trainings) {
    const train::TrainingBounds bounds = train::training_bounds(check.type);
    std::printf(
        "%6d  %-8s %9.1e %9.1e  %.0e, %.0e  %s\n",
        check.ranks,
        type_name(check.type),
        check.loss_error,
        check.weights_error,
        bounds.loss,
        bounds.weights,
        holds(check) ? "ok" : "BROKEN");
  }
}

void print_mistakes(const Findings& findings) {
  std::printf(
      "\nHow far off the usual mistakes are, N = 64, D = 128\n\n"
      "%6s  %-14s %21s  %12s  %21s\n"
      "%6s  %-14s %10s %10s  %12s  %10s %10s\n",
      "",
      "",
      "statistics per rank",
      "C summed raw",
      "losses averaged",
      "ranks",
      "rows",
      "loss",
      "gradient",
      "gradient",
      "loss",
      "gradient");
  for (const train::MistakeCheck& check : findings.mistakes) {
    std::printf(
        "%6zu  %-14s %10s %10s  %12s  %10s %10s\n",
        check.split.rows.size(),
        rows_text(check.split.rows).c_str(),
        percent(check.local_statistics_loss).c_str(),
        percent(check.local_statistics_gradient).c_str(),
        percent(check.raw_all_reduce_gradient).c_str(),
        percent(check.averaged_losses_loss).c_str(),
        percent(check.averaged_losses_gradient).c_str());
  }
  std::printf(
      "\n  statistics per rank: each rank standardises by its own mean and "
      "variance\n"
      "  C summed raw: all-reduce outside of autograd, gradients averaged "
      "after\n"
      "  losses averaged: a loss per rank; - where a rank has too few rows\n");
}

nlohmann::ordered_json to_json(const Findings& findings) {
  nlohmann::ordered_json answer{
      {"command", "verify"},
      {"ok", all_hold(findings)},
      {"loss_bound", train::kLossBound}};
  for (const train::LossCheck& check : findings.losses) {
    answer["losses"].push_back(
        {{"samples", check.samples},
         {"features", check.features},
         {"ranks", check.split.rows.size()},
         {"rows", check.split.rows},
         {"path", path_name(check.path)},
         {"loss_error", check.loss_error},
         {"gradient_error", check.gradient_error},
         {"ok", holds(check)}});
  }
  for (const train::TrainingCheck& check : findings.trainings) {
    const train::TrainingBounds bounds = train::training_bounds(check.type);
    answer["trainings"].push_back(
        {{"ranks", check.ranks},
         {"type", type_name(check.type)},
         {"loss_error", check.loss_error},
         {"loss_bound", bounds.loss},
         {"weights_error", check.weights_error},
         {"weights_bound", bounds.weights},
         {"ok", holds(check)}});
  }
  for (const train::MistakeCheck& check : findings.mistakes) {
    // NaN becomes null.
    answer["mistakes"].push_back(
        {{"ranks", check.split.rows.size()},
         {"rows", check.split.rows},
         {"local_statistics_loss", check.local_statistics_loss},
         {"local_statistics_gradient", check.local_statistics_gradient},
         {"raw_all_reduce_gradient", check.raw_all_reduce_gradient},
         {"averaged_losses_loss", check.averaged_losses_loss},
         {"averaged_losses_gradient", check.averaged_losses_gradient}});
  }
  return answer;
}

Findings find(const VerifyArguments& arguments) {
  Findings findings;
  const auto rendezvous = arguments.ranks.rendezvous();
  if (rendezvous) {
    set_threads(0, rendezvous->local_size);
    const torch::Device device =
        train::select_device(arguments.device, rendezvous->local_rank);
    examine(
        dist::connect(*rendezvous, arguments.ranks.connect_options(device)),
        arguments,
        findings);
    return findings;
  }
  set_threads(1);
  for (int ranks = 1; ranks <= arguments.most_ranks; ++ranks) {
    if (isatty(STDERR_FILENO) == 1) {
      std::cerr << "verifying " << ranks << " of " << arguments.most_ranks
                << " ranks\r";
    }
    dist::run_local_ranks(ranks, [&](const dist::ProcessGroup& group) {
      examine(group, arguments, findings);
    });
  }
  return findings;
}

int verify(const VerifyArguments& arguments) {
  const Findings findings = find(arguments);
  if (findings.losses.empty()) {
    return kExitDone;  // rank 0 speaks for all
  }
  const bool ok = all_hold(findings);
  if (arguments.json) {
    std::cout << json_line(to_json(findings)) << std::endl;
    return ok ? kExitDone : kExitFailed;
  }
  print_losses(findings);
  if (!findings.trainings.empty()) {
    print_trainings(findings);
    print_mistakes(findings);
  }
  std::printf(
      "\n%s\n",
      ok ? "verified: every number is within its bound"
         : "NOT verified: a bound is broken, see above");
  return ok ? kExitDone : kExitFailed;
}

}  // namespace

void add_verify(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("verify", kDescription);
  auto arguments = std::make_shared<VerifyArguments>();
  arguments->ranks.add_to(*command, RankFlags::Launching::kByCommand);
  command->add_option("--ranks", arguments->most_ranks, "try 1 to W ranks")
      ->type_name("W")
      ->check(in_range(1, 64))
      ->capture_default_str();
  command->add_option("--device", arguments->device, "auto, cpu, cuda, cuda:N")
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "print one line of JSON");
  command->callback([arguments, &action] {
    action = [arguments] {
      return verify(*arguments);
    };
  });
}

}  // namespace barlow::app
