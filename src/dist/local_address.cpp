// SPDX-License-Identifier: MIT

#include "dist/local_address.h"

#include <array>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "barlow/core/error.h"

namespace barlow::dist::detail {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    fail(
        "rank 0's address ",
        host,
        ": cannot be resolved: ",
        gai_strerror(error));
  }
  return {found, &freeaddrinfo};
}

// A datagram socket that is "connected" has a source address, unsent.
std::string source_address(const addrinfo& target) {
  const int descriptor =
      ::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return {};
  }
  sockaddr_storage storage{};
  // The socket interface's own idiom for addresses of any family.
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  socklen_t size = sizeof(storage);
  std::array<char, NI_MAXHOST> text{};
  const bool known =
      ::connect(descriptor, target.ai_addr, target.ai_addrlen) == 0 &&
      ::getsockname(descriptor, address, &size) == 0 &&
      ::getnameinfo(
          address,
          size,
          text.data(),
          static_cast<socklen_t>(text.size()),
          nullptr,
          0,
          NI_NUMERICHOST) == 0;
  ::close(descriptor);
  return known ? text.data() : std::string();
}

}  // namespace

std::string local_address_towards(const std::string& host, std::uint16_t port) {
  const AddressList targets = resolve(host, port);
  for (const addrinfo* target = targets.get(); target != nullptr;
       target = target->ai_next) {
    std::string address = source_address(*target);
    if (!address.empty()) {
      return address;
    }
  }
  fail(
      "rank 0's address ",
      host,
      ": no route: ",
      std::generic_category().message(errno));
}

}  // namespace barlow::dist::detail
