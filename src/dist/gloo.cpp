// SPDX-License-Identifier: MIT

#include "dist/c10d_backend.h"

#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // LibTorch has Gloo in every build for Linux
#endif
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace barlow::dist::detail {

std::shared_ptr<ProcessGroupBackend> make_gloo_backend(
    const Membership& membership,
    const std::string& address,
    const std::string& interface) {
  auto options = c10d::ProcessGroupGloo::Options::create(membership.timeout);
  options->devices.push_back(
      interface.empty()
          ? c10d::ProcessGroupGloo::createDeviceForHostname(address)
          : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
  const auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
      membership.store,
      membership.rank,
      membership.size,
      options);
  return make_backend(membership, gloo, {});
}

}  // namespace barlow::dist::detail
