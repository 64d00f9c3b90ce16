// SPDX-License-Identifier: MIT

#include "barlow/train/run_folder.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

#include "barlow/core/error.h"

namespace barlow::train {

RunLock::RunLock(const RunPaths& paths) {
  std::error_code error;
  std::filesystem::create_directories(paths.checkpoints, error);
  if (error) {
    fail(paths.folder.string(), ": cannot be created: ", error.message());
  }
  descriptor_ = ::open(paths.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    const std::string reason = std::generic_category().message(errno);
    fail(paths.folder.string(), ": cannot be written: ", reason);
  }
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    ::close(descriptor_);
    fail(
        paths.folder.string(),
        ": another process is training in this folder; wait for it, stop it, "
        "or choose another with --out");
  }
}

RunLock::~RunLock() {
  ::close(descriptor_);
}

}  // namespace barlow::train
