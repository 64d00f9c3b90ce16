// SPDX-License-Identifier: MIT
//
// IDX files of unsigned bytes, the format of MNIST (Y. LeCun, C. Cortes,
// C. J. C. Burges), plain or compressed by gzip:
//
//     bytes 0, 1   0        byte 2   8, unsigned bytes
//     byte  3      number of dimensions: 3 for images, 1 for labels
//     then each dimension (count, height, width), 4 bytes, big-endian
//     then the numbers

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace barlow::data::detail {

struct Idx {
  std::vector<std::uint64_t> dimensions;  ///< the first one at least 1
  std::vector<std::uint8_t> numbers;      ///< as many as their product
};

/// Reads a file with that many dimensions. Throws UsageError, naming the file,
/// if it is not one, is cut short or too long, claims more than it can hold
/// (before allocating that), or has a second or third dimension outside
/// [1, 16384].
Idx read_idx(const std::filesystem::path& path, std::size_t dimensions);

}  // namespace barlow::data::detail
