// SPDX-License-Identifier: MIT
//
// A recipe from the command line: --recipe, --set and a flag for every key.

#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "barlow/train/recipe.h"

namespace barlow::app {

/// Which keys a command takes as flags of their own.
enum class KeyFlags { kAll, kNone };

class RecipeFlags {
 public:
  /// Adds the options to `command`; this object must outlive its parsing.
  void add_to(CLI::App& command, KeyFlags key_flags);

  [[nodiscard]] bool has_recipe() const { return !recipe_.empty(); }
  [[nodiscard]] bool has_settings() const { return !settings_.empty(); }

  /// The recipe named by --recipe over `base`, then --set, then the flags.
  /// Throws UsageError.
  [[nodiscard]] train::Recipe resolve(train::Recipe base) const;

 private:
  std::string recipe_;
  std::vector<std::string> settings_;
  std::map<std::string, std::string> values_;
  CLI::App* command_ = nullptr;
};

/// "batch_size" -> "--batch-size".
[[nodiscard]] std::string flag_of_key(const std::string& key);

}  // namespace barlow::app
