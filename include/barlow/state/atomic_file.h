// SPDX-License-Identifier: MIT
//
// Files that are whole or absent.

#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace barlow::state {

/// A file that takes its name only when it is complete.
///
/// Bytes go to `path` + ".tmp"; commit() fsyncs them, renames the file over
/// `path` and fsyncs the folder. Destroyed without commit(), it removes the
/// temporary file and leaves `path` as it was.
/// Thread-compatible. All members throw Error with the path and the reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  void write(const void* bytes, std::size_t size);
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

/// Writes `text` to `path` through an AtomicFile.
void write_text_atomically(
    const std::filesystem::path& path,
    std::string_view text);

}  // namespace barlow::state
