// SPDX-License-Identifier: MIT

#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace barlow::app {

/// One line. Bytes that are not UTF-8, which file names may have, become
/// U+FFFD: JSON has no place for them.
inline std::string json_line(const nlohmann::ordered_json& answer) {
  return answer.dump(
      -1,
      ' ',
      /*ensure_ascii=*/false,
      nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace barlow::app
