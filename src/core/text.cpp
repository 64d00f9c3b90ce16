// SPDX-License-Identifier: MIT

#include "barlow/core/text.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

namespace barlow {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

template <class... Args>
std::string print(const char* format, Args... args) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, args...);
  return buffer.data();
}

}  // namespace

std::string nearest_name(
    std::string_view word,
    const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string join(
    const std::vector<std::string>& parts,
    std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    joined += joined.empty() ? "" : std::string(separator);
    joined += part;
  }
  return joined;
}

std::string format_bytes(double bytes) {
  if (bytes < 1024) {
    return print("%.0f B", bytes);
  }
  const std::array<const char*, 4> units{"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  bytes /= 1024;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return print(bytes < 10 ? "%.2f %s" : "%.1f %s", bytes, units[unit]);
}

std::string format_duration(double seconds) {
  const auto total = static_cast<long>(std::max(0.0, seconds) + 0.5);
  if (total < 60) {
    return print("%ld s", total);
  }
  if (total < 3600) {
    return print("%ld min %02ld s", total / 60, total % 60);
  }
  return print("%ld h %02ld min", total / 3600, total % 3600 / 60);
}

}  // namespace barlow
