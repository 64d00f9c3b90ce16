// SPDX-License-Identifier: MIT

#include "bench/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace barlow::bench {
namespace {

std::string text_of(const nlohmann::ordered_json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.is_number_float()) {
    return value.dump();
  }
  const double number = value.get<double>();
  std::array<char, 32> text{};
  std::snprintf(
      text.data(),
      text.size(),
      std::abs(number) >= 100 ? "%.0f" : "%.3g",
      number);
  return text.data();
}

int width_of(const std::string& key) {
  return std::max(10, static_cast<int>(key.size()));
}

}  // namespace

Table::Table(std::string title, bool json)
    : title_(std::move(title)), json_(json) {
  if (!json_) {
    std::printf("%s\n\n", title_.c_str());
  }
}

void Table::add(const nlohmann::ordered_json& row) {
  if (!json_) {
    if (rows_.empty()) {
      for (const auto& [key, value] : row.items()) {
        std::printf("%*s  ", width_of(key), key.c_str());
      }
      std::printf("\n");
    }
    for (const auto& [key, value] : row.items()) {
      std::printf("%*s  ", width_of(key), text_of(value).c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  rows_.push_back(row);
}

void Table::finish(const nlohmann::ordered_json& about) {
  if (json_) {
    nlohmann::ordered_json answer{{"benchmark", title_}, {"about", about}};
    answer["rows"] = rows_;
    std::printf("%s\n", answer.dump().c_str());
  } else {
    std::printf("\n%s\n", about.dump().c_str());
  }
}

}  // namespace barlow::bench
