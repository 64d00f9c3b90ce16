// SPDX-License-Identifier: MIT

#include "barlow/dist/named_tensors.h"

#include <sstream>
#include <string>

namespace barlow::dist {
namespace {

// A line a tensor: type, number of dimensions, sizes, name.
std::string list_of(const NamedTensors& tensors) {
  std::ostringstream list;
  for (const auto& [name, tensor] : tensors) {
    list << static_cast<int>(tensor.scalar_type()) << " " << tensor.dim();
    for (const std::int64_t size : tensor.sizes()) {
      list << " " << size;
    }
    list << " " << name << "\n";
  }
  return list.str();
}

NamedTensors allocate(const std::string& list) {
  NamedTensors tensors;
  std::istringstream stream(list);
  int type = 0;
  std::size_t dimensions = 0;
  while (stream >> type >> dimensions) {
    std::vector<std::int64_t> sizes(dimensions);
    for (std::int64_t& size : sizes) {
      stream >> size;
    }
    std::string name;
    stream.get();
    std::getline(stream, name);
    tensors.emplace(
        name,
        torch::empty(sizes, static_cast<torch::ScalarType>(type)));
  }
  return tensors;
}

}  // namespace

NamedTensors broadcast_named_tensors(
    const NamedTensors& tensors,
    const ProcessGroup& group,
    int root) {
  if (group.size() == 1) {
    return tensors;
  }
  const torch::NoGradGuard no_grad;
  const bool sends = group.rank() == root;
  const std::string list =
      group.broadcast_text(sends ? list_of(tensors) : "", root);
  NamedTensors result = allocate(list);
  for (auto& [name, tensor] : result) {
    if (sends) {
      tensor.copy_(tensors.at(name));
    }
    group.broadcast_(tensor, root);
  }
  return result;
}

}  // namespace barlow::dist
