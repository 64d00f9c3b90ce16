// SPDX-License-Identifier: MIT
//
// The header of a safetensors file: which tensor lies where.
//
// Layout of a file: u64 little-endian H; H bytes of JSON, padded with spaces to
// a multiple of 8; data. The JSON maps each name to {"dtype", "shape",
// "data_offsets": [begin, end)}, offsets from the start of data, and
// "__metadata__" to an object of strings.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

#include "barlow/state/safetensors.h"

namespace barlow::state::detail {

// The format's own limit; a longer one is refused before it is read.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

struct TensorEntry {
  std::string name;
  torch::ScalarType type = torch::kFloat32;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  // bytes from the start of data
  std::uint64_t end = 0;
};

struct Header {
  std::vector<TensorEntry> entries;  // in the order of their bytes
  Metadata metadata;
};

/// Places the tensors of `file` one after another, the widest types first, so
/// that each is aligned to its element size (readers that map a file need it).
/// Throws Error for what the format cannot hold.
Header plan_header(const TensorFile& file);

/// The JSON, compact and with sorted keys: equal headers give equal bytes.
std::string header_text(const Header& header);

/// The inverse, for a file with `data_bytes` bytes of data. Checks all that can
/// be checked without the data: types, shapes, that the tensors' bytes follow
/// one another without a gap or an overlap and are all of the data.
/// Throws Error saying what was found, without the file's name.
Header parse_header(const std::string& text, std::uint64_t data_bytes);

}  // namespace barlow::state::detail
