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
/// One writer of a path at a time: a second one would share the temporary file.
///
/// Thread-compatible. All members throw Error with the path and the reason;
/// after that, `path` is as it was and the object can only be destroyed. The
/// exception is a failed sync of the folder: then `path` is new, but may be old
/// again after a power failure.
class AtomicFile {
 public:
  /// Creates the temporary file, over one that a killed process left.
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  AtomicFile(AtomicFile&&) = delete;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends.
  void write(const void* bytes, std::size_t size);

  /// Once, as the last call.
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

/// Renames `path` to the first of path.old-1, path.old-2, ... that is not there
/// yet, and returns that. For files of a user, or damaged ones, that stand
/// where another is to be written. Throws Error, naming it, if that fails.
std::filesystem::path set_aside(const std::filesystem::path& path);

}  // namespace barlow::state
