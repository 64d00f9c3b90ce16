// SPDX-License-Identifier: MIT

#include "support/peak_memory.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace barlow::test {
namespace {

// LibTorch tells its profiler of each allocation, and of each release of what
// was allocated while it listened.
class PeakListener : public c10::MemoryReportingInfoBase {
 public:
  // The names and types are LibTorch's.
  void reportMemoryUsage(
      void* /*pointer*/,
      int64_t bytes,
      int64_t /*total_allocated*/,
      int64_t /*total_reserved*/,
      c10::Device device) override {
    if (device.is_cpu()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      held_ += bytes;
      peak_ = std::max(peak_, held_);
    }
  }

  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  [[nodiscard]] std::int64_t peak() const { return peak_; }

 private:
  std::mutex mutex_;
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace

std::int64_t peak_bytes(const std::function<void()>& work) {
  const auto listener = std::make_shared<PeakListener>();
  const c10::DebugInfoGuard listening(
      c10::DebugInfoKind::PROFILER_STATE,
      listener);
  work();
  return listener->peak();
}

}  // namespace barlow::test
