// SPDX-License-Identifier: MIT
//
// Small helpers for messages.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace barlow {

/// The candidate that differs from `word` by the fewest single-character edits,
/// or "" if none is near enough to be a slip of the keyboard (more than a third
/// of the word's letters). Ties go to the first. Cost: one edit-distance table
/// per candidate.
[[nodiscard]] std::string nearest_name(
    std::string_view word,
    const std::vector<std::string>& candidates);

/// "a, b, c".
[[nodiscard]] std::string join(
    const std::vector<std::string>& parts,
    std::string_view separator = ", ");

/// "1.50 GiB", "12.0 MiB", "800 B".
[[nodiscard]] std::string format_bytes(double bytes);

/// "2 h 03 min", "4 min 10 s", "12 s".
[[nodiscard]] std::string format_duration(double seconds);

}  // namespace barlow
