// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <string>

namespace barlow::dist::detail {

/// The numeric address of this machine from which `host` is reached: with more
/// than one network, the one that the peers share. Nothing is sent.
/// Throws Error if the name is unknown or there is no route.
[[nodiscard]] std::string local_address_towards(
    const std::string& host,
    std::uint16_t port);

}  // namespace barlow::dist::detail
