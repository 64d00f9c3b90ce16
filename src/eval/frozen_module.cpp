// SPDX-License-Identifier: MIT

#include "barlow/eval/frozen_module.h"

#include <cstddef>
#include <cstring>

#include "barlow/core/error.h"

namespace barlow::eval {
namespace {

// A bijective mixing of each word into the sum (the finaliser of MurmurHash3's
// 64-bit form): a change of any single word changes the result for certain.
std::uint64_t mix(std::uint64_t sum, std::uint64_t word) {
  sum ^= word;
  sum ^= sum >> 33;
  sum *= 0xff51afd7ed558ccdULL;
  sum ^= sum >> 33;
  sum *= 0xc4ceb9fe1a85ec53ULL;
  sum ^= sum >> 33;
  return sum;
}

std::uint64_t checksum(const torch::Tensor& tensor) {
  const torch::Tensor bytes = tensor.detach().to(torch::kCPU).contiguous();
  std::uint64_t sum = static_cast<std::uint64_t>(tensor.scalar_type());
  for (const std::int64_t extent : tensor.sizes()) {
    sum = mix(sum, static_cast<std::uint64_t>(extent));
  }
  const auto* data = static_cast<const char*>(bytes.data_ptr());
  const std::size_t size = bytes.nbytes();
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data + at, std::min(sizeof(word), size - at));
    sum = mix(sum, word);
  }
  return sum;
}

std::map<std::string, std::uint64_t> checksums(
    const torch::nn::Module& module) {
  std::map<std::string, std::uint64_t> sums;
  for (const auto& item : module.named_parameters()) {
    sums["parameter " + item.key()] = checksum(item.value());
  }
  for (const auto& item : module.named_buffers()) {
    sums["buffer " + item.key()] = checksum(item.value());
  }
  return sums;
}

}  // namespace

FrozenModule::FrozenModule(torch::nn::Module& module)
    : module_(module), checksums_(checksums(module)) {
  modes_.emplace_back(&module, module.is_training());
  for (const auto& child : module.modules(/*include_self=*/false)) {
    modes_.emplace_back(child.get(), child->is_training());
  }
  module.eval();
}

FrozenModule::~FrozenModule() {
  // train() acts on a module's children too, so the order matters.
  for (const auto& [module, training] : modes_) {
    module->train(training);
  }
}

void FrozenModule::check_unchanged() const {
  for (const auto& [module, training] : modes_) {
    if (module->is_training()) {
      fail("frozen encoder: ", module->name(), " was set to training mode");
    }
  }
  const auto now = checksums(module_);
  for (const auto& [name, sum] : checksums_) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != sum) {
      fail("frozen encoder: ", name, " changed during the evaluation");
    }
  }
  for (const auto& [name, sum] : now) {
    if (checksums_.count(name) == 0) {
      fail("frozen encoder: ", name, " appeared during the evaluation");
    }
  }
}

}  // namespace barlow::eval
