// SPDX-License-Identifier: MIT

#include "barlow/state/checkpoint_store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/core/text.h"

namespace barlow::state {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFormat = "barlow-checkpoint";
constexpr int kFormatVersion = 1;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kTemporarySuffix = ".safetensors.tmp";

// All of `text` as a number >= 0.
template <class Integer>
std::optional<Integer> parse_number(std::string_view text) {
  Integer number = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed != end || number < 0) {
    return std::nullopt;
  }
  return number;
}

std::optional<std::int64_t> step_of(
    const fs::path& path,
    std::string_view suffix = kSuffix) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix) ||
      name.size() <= kPrefix.size() + suffix.size()) {
    return std::nullopt;
  }
  return parse_number<std::int64_t>(std::string_view(name).substr(
      kPrefix.size(),
      name.size() - kPrefix.size() - suffix.size()));
}

std::string file_name(std::int64_t step) {
  std::array<char, 48> name{};
  std::snprintf(
      name.data(),
      name.size(),
      "step-%09lld.safetensors",
      static_cast<long long>(step));
  return name.data();
}

// A copied or renamed file would continue the run at a wrong step. Files
// without the entry are taken at their name.
void check_step(const fs::path& path, const Metadata& metadata) {
  const auto step = metadata.find("step");
  if (step != metadata.end() &&
      parse_number<std::int64_t>(step->second) != step_of(path)) {
    fail(
        path.string(),
        ": the file's name and its content disagree: found step ",
        step->second,
        " in its metadata, expected ",
        *step_of(path),
        " (was it renamed?)");
  }
}

// Fails for a file without the marks of a checkpoint, as for a damaged one.
int format_version(const fs::path& path, const Metadata& metadata) {
  const auto format = metadata.find("format");
  const auto version = metadata.find("format_version");
  if (format == metadata.end() || format->second != kFormat ||
      version == metadata.end()) {
    fail(path.string(), ": not a checkpoint: its metadata does not say so");
  }
  const auto number = parse_number<int>(version->second);
  if (!number || *number < 1) {
    fail(
        path.string(),
        ": found format_version ",
        version->second,
        ", expected a number from 1 on");
  }
  return *number;
}

}  // namespace

std::vector<fs::path> list_checkpoints(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (const auto step = step_of(entry.path())) {
      found.emplace_back(*step, entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [step, path] : found) {
    paths.push_back(std::move(path));
  }
  return paths;
}

CheckpointStore::CheckpointStore(fs::path folder, std::int64_t keep_last)
    : folder_(std::move(folder)), keep_last_(keep_last) {
  TORCH_CHECK_VALUE(
      keep_last >= 1,
      "CheckpointStore: keep_last must be at least 1, got ",
      keep_last);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    fail(folder_.string(), ": cannot be created: ", error.message());
  }
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    if (step_of(entry.path(), kTemporarySuffix)) {
      leftovers.push_back(entry.path());
    }
  }
  for (const fs::path& leftover : leftovers) {
    fs::remove(leftover, error);
  }
}

fs::path CheckpointStore::save(std::int64_t step, const TensorFile& file)
    const {
  TORCH_CHECK_VALUE(
      step >= 0,
      "CheckpointStore: step must be at least 0, got ",
      step);
  TensorFile marked = file;
  marked.metadata["format"] = kFormat;
  marked.metadata["format_version"] = std::to_string(kFormatVersion);
  marked.metadata["step"] = std::to_string(step);
  const fs::path path = folder_ / file_name(step);
  write_safetensors(path, marked);
  remove_older(step);
  return path;
}

void CheckpointStore::remove_older(std::int64_t step) const {
  std::vector<fs::path> kept;
  for (const fs::path& path : list_checkpoints(folder_)) {
    if (*step_of(path) <= step) {
      kept.push_back(path);
    }
  }
  const auto keep = static_cast<std::size_t>(keep_last_);
  std::error_code ignored;  // a file that cannot be removed only takes room
  for (std::size_t i = 0; i + keep < kept.size(); ++i) {
    fs::remove(kept[i], ignored);
  }
}

std::optional<LoadedCheckpoint> CheckpointStore::load_latest() const {
  const std::vector<fs::path> all = list_checkpoints(folder_);
  LoadedCheckpoint loaded;
  for (auto path = all.rbegin(); path != all.rend(); ++path) {
    int version = 0;
    try {
      loaded.file = read_safetensors(*path);
      version = format_version(*path, loaded.file.metadata);
      check_step(*path, loaded.file.metadata);
    } catch (const Error& error) {
      loaded.warnings.emplace_back(error.what());
      continue;
    }
    if (version > kFormatVersion) {
      fail(
          path->string(),
          ": found format_version ",
          version,
          ", expected at most ",
          kFormatVersion,
          ": it was written by a newer barlow");
    }
    loaded.step = *step_of(*path);
    return loaded;
  }
  if (!all.empty()) {
    fail(
        folder_.string(),
        ": none of its checkpoints can be used: ",
        join(loaded.warnings, "; "),
        "; move them away to start anew");
  }
  return std::nullopt;
}

}  // namespace barlow::state
