// SPDX-License-Identifier: MIT

#include "train/agreement.h"

#include <sstream>
#include <vector>

#include "barlow/core/error.h"
#include "barlow/core/version.h"

namespace barlow::train {
namespace {

// A line for each thing that must be equal.
std::string description(
    const Recipe& recipe,
    const std::string& dataset_fingerprint) {
  std::ostringstream text;
  text << "barlow version = " << kVersion << "\n";
  for (const RecipeField& field : recipe_fields()) {
    if (field.on_resume == OnResume::kMustMatch) {
      text << field.key << " = " << recipe_value_text(field.get(recipe))
           << "\n";
    }
  }
  text << "data = " << dataset_fingerprint << "\n";
  return text.str();
}

// "lambda = 0.1; expected lambda = 0.2", or "" if there is none.
std::string first_difference(
    const std::string& found,
    const std::string& expected) {
  std::istringstream found_lines(found);
  std::istringstream expected_lines(expected);
  std::string found_line;
  std::string expected_line;
  while (std::getline(expected_lines, expected_line)) {
    std::getline(found_lines, found_line);
    if (found_line != expected_line) {
      return found_line + ", expected " + expected_line;
    }
  }
  return {};
}

}  // namespace

void require_same_run(
    const Recipe& recipe,
    const std::string& dataset_fingerprint,
    const dist::ProcessGroup& group) {
  const std::vector<std::string> texts =
      group.gather_texts(description(recipe, dataset_fingerprint));
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const std::string difference = first_difference(texts[rank], texts[0]);
    if (!difference.empty()) {
      fail<UsageError>(
          "rank ",
          rank,
          " was not given the same run as rank 0: found ",
          difference,
          " as there");
    }
  }
}

}  // namespace barlow::train
