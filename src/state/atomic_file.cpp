// SPDX-License-Identifier: MIT

#include "barlow/state/atomic_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "barlow/core/error.h"

namespace barlow::state {
namespace {

// `code` is errno as it was at the failure: later calls may change it.
[[noreturn]] void
fail_with(int code, const char* action, const std::filesystem::path& path) {
  const std::string reason = std::generic_category().message(code);
  fail(path.string(), ": cannot ", action, ": ", reason);
}

// A rename is durable only once its folder is on disk too.
void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) {
    fail_with(errno, "open the folder", folder);
  }
  const int code = ::fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0 && code != EINVAL) {  // EINVAL: this file system cannot
    fail_with(code, "sync the folder", folder);
  }
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path)
    : path_(std::move(path)), temporary_(path_) {
  temporary_ += ".tmp";
  descriptor_ = ::open(
      temporary_.c_str(),
      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
      0644);
  if (descriptor_ < 0) {
    fail_with(errno, "create", temporary_);
  }
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicFile::write(const void* bytes, std::size_t size) {
  const auto* begin = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, begin, size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      fail_with(errno, "write", temporary_);
    }
    begin += written;
    size -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) {
    fail_with(errno, "sync", temporary_);
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    const int code = errno;
    ::unlink(temporary_.c_str());
    fail_with(code, "close", temporary_);
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary_.c_str());
    fail_with(code, "rename the finished file to", path_);
  }
  const std::filesystem::path folder = path_.parent_path();
  sync_folder(folder.empty() ? "." : folder);
}

void write_text_atomically(
    const std::filesystem::path& path,
    std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

std::filesystem::path set_aside(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path aside;
  int number = 0;
  do {
    aside = path;
    aside += ".old-" + std::to_string(++number);
  } while (std::filesystem::exists(aside, error));
  std::filesystem::rename(path, aside, error);
  if (error) {
    fail(path.string(), ": cannot be renamed: ", error.message());
  }
  return aside;
}

}  // namespace barlow::state
