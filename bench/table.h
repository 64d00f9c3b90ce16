// SPDX-License-Identifier: MIT

#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace barlow::bench {

/// Rows with equal keys, printed as a table or, with --json, as one line.
class Table {
 public:
  Table(std::string title, bool json);

  /// Values are numbers or texts. Without --json the row is printed at once.
  void add(const nlohmann::ordered_json& row);

  /// Prints what is left to print.
  void finish(const nlohmann::ordered_json& about);

 private:
  std::string title_;
  bool json_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace barlow::bench
