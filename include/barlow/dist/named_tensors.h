// SPDX-License-Identifier: MIT

#pragma once

#include "barlow/core/named_tensors.h"
#include "barlow/dist/process_group.h"

namespace barlow::dist {

/// Rank `root`'s tensors, on every rank: on the CPU, contiguous, whatever
/// names, shapes and types they have; the other ranks' `tensors` are ignored.
/// Returns `tensors` itself in a single process. Collective: one broadcast of a
/// text and one for each tensor.
[[nodiscard]] NamedTensors broadcast_named_tensors(
    const NamedTensors& tensors,
    const ProcessGroup& group,
    int root = 0);

}  // namespace barlow::dist
