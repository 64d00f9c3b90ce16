// SPDX-License-Identifier: MIT
//
// Named tensors in one file, in the safetensors format
// (https://github.com/huggingface/safetensors): 8 bytes little-endian header
// length, a JSON header, then the tensors' bytes, row-major, little-endian.
// Python's safetensors package reads what is written here, and the reverse.

#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "barlow/core/named_tensors.h"

namespace barlow::state {

/// Free text beside the tensors: keys and values are UTF-8.
using Metadata = std::map<std::string, std::string>;

struct TensorFile {
  NamedTensors tensors = {};
  Metadata metadata = {};
};

/// Writes `file` so that `path` either holds all of it or what was there
/// before, also when the process is killed or the machine stops: the bytes go
/// to a temporary file beside it, are fsynced, and are renamed over `path`;
/// then the folder is fsynced.
///
/// Tensors of any device and strides are written row-major. Types: float64,
/// 32 and 16, bfloat16, int64, 32, 16 and 8, uint8, bool. Dense tensors only.
/// The same tensors and metadata give the same bytes. The file's metadata gets
/// one entry more, "crc32", a checksum of all else in it, in place of any that
/// `file` has under that key.
/// Cost: one file of the tensors' bytes; one copy in memory of a tensor that is
/// not contiguous on the CPU, at a time, made twice; the checksum, about a
/// second for 1 to 2 GB.
/// Throws Error, naming the path and the system's reason, or the tensor or the
/// text that the format cannot hold (names and metadata must be UTF-8).
void write_safetensors(
    const std::filesystem::path& path,
    const TensorFile& file);

/// Reads a whole file into CPU tensors of its own memory.
///
/// A file may come from anywhere: its header is checked before anything is
/// allocated for it. Length at most 100 MB (the format's own limit) and within
/// the file, known types, each name once, offsets without gaps or overlaps,
/// shapes that match their bytes, sizes whose product does not overflow. Memory
/// is bounded by the file's size. Where there is a checksum, all bytes must
/// agree with it; it is not among the metadata that is returned.
/// Throws Error, one line with the path, what was found and what was expected.
[[nodiscard]] TensorFile read_safetensors(const std::filesystem::path& path);

/// Its metadata alone, without reading the tensors' bytes, so that damage in
/// them goes unnoticed. Else as `read_safetensors`.
[[nodiscard]] Metadata read_safetensors_metadata(
    const std::filesystem::path& path);

}  // namespace barlow::state
