// SPDX-License-Identifier: MIT

#pragma once

namespace barlow {

/// Makes this process keep the memory that it frees, for its next allocation.
///
/// glibc returns each large block to the system when it is freed and clears
/// pages anew when it is asked for again. A training step frees and asks for
/// gigabytes of activations; where page faults are dear (virtual machines), a
/// bfloat16 step of ResNet-18 takes half the time without them. The price: the
/// process keeps its peak until it ends. Call it before large allocations; it
/// does nothing under other C libraries.
void keep_freed_memory();

}  // namespace barlow
