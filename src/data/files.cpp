// SPDX-License-Identifier: MIT

#include <algorithm>
#include <fstream>
#include <system_error>
#include <utility>

#include "barlow/core/error.h"
#include "data/dataset_kinds.h"

namespace barlow::data::detail {
namespace {

namespace fs = std::filesystem;

// Larger than any image within the decoder's limits, raw.
constexpr std::uintmax_t kMaxFileBytes = std::uintmax_t{1} << 31U;

bool contains(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

}  // namespace

bool Listing::has_file(const std::string& name) const {
  return contains(files, name);
}

bool Listing::has_folder(const std::string& name) const {
  return contains(folders, name);
}

Listing list_folder(const fs::path& folder) {
  Listing listing;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (name.starts_with('.')) {
      continue;
    }
    std::error_code ignored;
    auto& names = entry->is_directory(ignored) ? listing.folders
                  : entry->is_symlink(ignored) && !entry->exists(ignored)
                      ? listing.dangling
                      : listing.files;
    names.push_back(std::move(name));
  }
  if (error) {
    fail<UsageError>(folder.string(), ": cannot be read: ", error.message());
  }
  std::sort(listing.files.begin(), listing.files.end());
  std::sort(listing.folders.begin(), listing.folders.end());
  std::sort(listing.dangling.begin(), listing.dangling.end());
  return listing;
}

std::vector<std::uint8_t> read_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) {
    fail(path.string(), ": cannot be read: ", error.message());
  }
  if (size > kMaxFileBytes) {
    fail(
        path.string(),
        ": found a file of ",
        size,
        " bytes, expected at most ",
        kMaxFileBytes);
  }
  std::vector<std::uint8_t> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(
      reinterpret_cast<char*>(bytes.data()),
      static_cast<std::streamsize>(size));
  if (!file) {
    fail(path.string(), ": cannot be read");
  }
  return bytes;
}

const char* name_of(Split split) {
  return split == Split::kTrain ? "training" : "test";
}

std::vector<std::string> numbered_names(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) {
    names.push_back(std::to_string(i));
  }
  return names;
}

}  // namespace barlow::data::detail
