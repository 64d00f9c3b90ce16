// SPDX-License-Identifier: MIT

#include "train/fingerprint.h"

#include <cstdint>
#include <iomanip>
#include <sstream>

namespace barlow::train {
namespace {

// FNV-1a, 64 bits: G. Fowler, L. C. Noll, K.-P. Vo.
std::uint64_t hash_image(std::uint64_t hash, const data::Image& image) {
  const auto mix = [&hash](std::uint64_t byte) {
    hash = (hash ^ byte) * 0x100000001b3;
  };
  mix(static_cast<std::uint64_t>(image.width));
  mix(static_cast<std::uint64_t>(image.height));
  for (const std::uint8_t level : image.pixels) {
    mix(level);
  }
  return hash;
}

}  // namespace

std::string dataset_fingerprint(const data::Dataset& dataset) {
  const std::int64_t size = dataset.size();
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::int64_t index : {std::int64_t{0}, size / 2, size - 1}) {
    hash = hash_image(hash, dataset.load(index));
  }
  std::ostringstream text;
  text << size << " images, hash " << std::hex << std::setw(16)
       << std::setfill('0') << hash;
  return text.str();
}

}  // namespace barlow::train
