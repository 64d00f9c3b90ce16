// SPDX-License-Identifier: MIT
//
// A process group whose ranks are threads of the test.

#pragma once

#include <cstdint>
#include <functional>

#include "barlow/dist/process_group.h"

namespace barlow::test {

/// What rank 0 took part in.
struct Traffic {
  std::int64_t calls = 0;
  std::int64_t all_reduced_bytes = 0;  ///< sum of the tensors' sizes
  std::int64_t gathered_bytes = 0;     ///< sum of the results' sizes
  std::int64_t broadcast_bytes = 0;    ///< sum of the tensors' sizes
};

/// Calls `body` on `ranks` threads at once, each with its handle to one group,
/// and returns when all have ended.
///
/// Sums are taken in rank order, so results do not depend on timing. Calls that
/// do not match between ranks (another collective, dtype or shape) throw
/// std::logic_error on all of them. If a rank throws, the others' collectives
/// fail and the first exception in time is rethrown here. A rank that returns
/// while others still communicate counts as a mismatch: nothing hangs.
Traffic run_ranks(
    int ranks,
    const std::function<void(const dist::ProcessGroup&)>& body);

}  // namespace barlow::test
