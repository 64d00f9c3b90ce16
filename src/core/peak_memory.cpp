// SPDX-License-Identifier: MIT

#include "barlow/core/peak_memory.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace barlow {
namespace {

// The type of the totals that LibTorch reports: int64_t in 1.13, size_t later.
template <class Class, class Pointer, class Size, class Total, class... Rest>
Total total_of(void (Class::*)(Pointer, Size, Total, Rest...));
using Total =
    decltype(total_of(&c10::MemoryReportingInfoBase::reportMemoryUsage));

// LibTorch tells its profiler of each allocation and release. A release of what
// was allocated before the profiler listened is none of ours.
class Listener : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(
      void* pointer,
      int64_t bytes,
      Total /*total_allocated*/,
      Total /*total_reserved*/,
      c10::Device device) override {
    if (!device.is_cpu()) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (bytes > 0) {
      blocks_[pointer] = bytes;
      use_.held_bytes += bytes;
      use_.peak_bytes = std::max(use_.peak_bytes, use_.held_bytes);
    } else if (const auto own = blocks_.find(pointer); own != blocks_.end()) {
      use_.held_bytes -= own->second;
      blocks_.erase(own);
    }
  }

  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  [[nodiscard]] MemoryUse use() const { return use_; }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> blocks_;
  MemoryUse use_;
};

}  // namespace

MemoryUse measure_memory(const std::function<void()>& work) {
  const auto listener = std::make_shared<Listener>();
  const c10::DebugInfoGuard listening(
      c10::DebugInfoKind::PROFILER_STATE,
      listener);
  work();
  return listener->use();
}

}  // namespace barlow
