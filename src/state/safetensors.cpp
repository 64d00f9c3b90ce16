// SPDX-License-Identifier: MIT
//
// Layout of a file: u64 little-endian H; H bytes of JSON, padded with spaces to
// a multiple of 8; data. The JSON maps each name to {"dtype", "shape",
// "data_offsets": [begin, end)}, offsets from the start of data, and
// "__metadata__" to an object of strings.

#include "barlow/state/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>

#include "barlow/core/error.h"
#include "barlow/state/atomic_file.h"

namespace barlow::state {
namespace {

static_assert(
    std::endian::native == std::endian::little,
    "tensors are written as they lie in memory");

using Json = nlohmann::json;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr const char* kMetadataKey = "__metadata__";

constexpr std::array<std::pair<const char*, torch::ScalarType>, 10> kTypes{{
    {"F64", torch::kFloat64},
    {"F32", torch::kFloat32},
    {"F16", torch::kFloat16},
    {"BF16", torch::kBFloat16},
    {"I64", torch::kInt64},
    {"I32", torch::kInt32},
    {"I16", torch::kInt16},
    {"I8", torch::kInt8},
    {"U8", torch::kUInt8},
    {"BOOL", torch::kBool},
}};

const char* type_name(torch::ScalarType type, const std::string& tensor) {
  for (const auto& [name, candidate] : kTypes) {
    if (candidate == type) {
      return name;
    }
  }
  fail("tensor ", tensor, ": type ", torch::toString(type), " cannot be saved");
}

// One entry of the header.
struct Entry {
  std::string name;
  torch::ScalarType type;
  std::vector<std::int64_t> shape;
  std::uint64_t begin;
  std::uint64_t end;
};

std::string header_text(const TensorFile& file) {
  Json header = Json::object();
  if (!file.metadata.empty()) {
    header[kMetadataKey] = file.metadata;
  }
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : file.tensors) {
    const std::uint64_t end = offset + tensor.nbytes();
    header[name] = {
        {"dtype", type_name(tensor.scalar_type(), name)},
        {"shape", tensor.sizes().vec()},
        {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : path_(path), stream_(path, std::ios::binary) {
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    if (!stream_ || error) {
      fail(path.string(), ": cannot be read: no such file, or no permission");
    }
  }

  TensorFile read() {
    TensorFile file;
    const Json header = read_header();
    std::vector<Entry> entries;
    try {
      for (const auto& [name, value] : header.items()) {
        if (name == kMetadataKey) {
          file.metadata = value.get<Metadata>();
        } else {
          entries.push_back(parse_entry(name, value));
        }
      }
    } catch (const Json::exception& error) {
      damaged("malformed header entry: ", error.what());
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    check_layout(entries);
    for (const Entry& entry : entries) {
      torch::Tensor tensor = torch::empty(entry.shape, entry.type);
      read_bytes(tensor.data_ptr(), entry.end - entry.begin);
      file.tensors.emplace(entry.name, std::move(tensor));
    }
    return file;
  }

 private:
  template <class... Args>
  [[noreturn]] void damaged(const Args&... args) const {
    fail(path_.string(), ": not a whole safetensors file: ", args...);
  }

  void read_bytes(void* destination, std::uint64_t size) {
    if (size == 0) {
      return;
    }
    stream_.read(
        static_cast<char*>(destination), static_cast<std::streamsize>(size));
    if (!stream_) {
      damaged("ends early, ", size_, " bytes in all");
    }
  }

  Json read_header() {
    std::uint64_t length = 0;
    if (size_ < sizeof(length)) {
      damaged(size_, " bytes, expected at least ", sizeof(length));
    }
    read_bytes(&length, sizeof(length));
    if (length > kMaxHeaderBytes || length > size_ - sizeof(length)) {
      damaged("header of ", length, " bytes in a file of ", size_);
    }
    std::string text(length, '\0');
    read_bytes(text.data(), length);
    data_bytes_ = size_ - sizeof(length) - length;
    Json header = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!header.is_object()) {
      damaged("its header is not a JSON object");
    }
    return header;
  }

  Entry parse_entry(const std::string& name, const Json& value) const {
    const auto type_text = value.at("dtype").get<std::string>();
    const auto* type = std::find_if(
        kTypes.begin(), kTypes.end(), [&](const auto& candidate) {
          return candidate.first == type_text;
        });
    if (type == kTypes.end()) {
      damaged("tensor ", name, " has the unknown type ", type_text);
    }
    const auto offsets =
        value.at("data_offsets").get<std::array<std::uint64_t, 2>>();
    Entry entry{
        name,
        type->second,
        value.at("shape").get<std::vector<std::int64_t>>(),
        offsets[0],
        offsets[1]};
    check_extent(entry);
    return entry;
  }

  void check_extent(const Entry& entry) const {
    if (entry.begin > entry.end || entry.end > data_bytes_) {
      damaged("tensor ", entry.name, " lies outside of the file");
    }
    const std::uint64_t bytes = entry.end - entry.begin;
    std::uint64_t expected = torch::elementSize(entry.type);
    for (const std::int64_t extent : entry.shape) {
      if (extent < 0) {
        damaged("tensor ", entry.name, " has a negative size");
      }
      const auto factor = static_cast<std::uint64_t>(extent);
      if (factor != 0 && expected > data_bytes_ / factor) {
        damaged("tensor ", entry.name, " is larger than the file");
      }
      expected *= factor;
    }
    if (expected != bytes) {
      damaged(
          "tensor ", entry.name, " has ", bytes, " bytes, its shape needs ",
          expected);
    }
  }

  void check_layout(const std::vector<Entry>& entries) const {
    std::uint64_t position = 0;
    for (const Entry& entry : entries) {
      if (entry.begin != position) {
        damaged("tensor ", entry.name, " overlaps another or follows a gap");
      }
      position = entry.end;
    }
    if (position != data_bytes_) {
      damaged(data_bytes_, " bytes of data, the header lists ", position);
    }
  }

  std::filesystem::path path_;
  std::ifstream stream_;
  std::uint64_t size_ = 0;
  std::uint64_t data_bytes_ = 0;
};

}  // namespace

void write_safetensors(
    const std::filesystem::path& path,
    const TensorFile& file) {
  const std::string header = header_text(file);
  const std::uint64_t length = header.size();
  AtomicFile output(path);
  output.write(&length, sizeof(length));
  output.write(header.data(), header.size());
  for (const auto& [name, tensor] : file.tensors) {
    const torch::Tensor bytes =
        tensor.detach().to(torch::kCPU).contiguous();
    output.write(bytes.data_ptr(), bytes.nbytes());
  }
  output.commit();
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return Reader(path).read();
}

}  // namespace barlow::state
