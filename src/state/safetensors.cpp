// SPDX-License-Identifier: MIT

#include "barlow/state/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>
#include <zlib.h>

#include "barlow/core/error.h"
#include "barlow/state/atomic_file.h"
#include "state/safetensors_header.h"

namespace barlow::state {
namespace {

static_assert(
    std::endian::native == std::endian::little,
    "tensors are written as they lie in memory");

// CRC-32 of a header without this key, as `header_text` writes it, and then of
// the data: covers names, shapes and metadata, however a reader or another
// writer spaces and orders its JSON. Any damage of up to 32 bits in a row is
// found for certain, other damage but for one in 2^32.
constexpr const char* kChecksumKey = "crc32";

class Checksum {
 public:
  explicit Checksum(detail::Header header) {
    header.metadata.erase(kChecksumKey);
    const std::string text = detail::header_text(header);
    add(text.data(), text.size());
  }

  void add(const void* bytes, std::size_t size) {
    if (size > 0) {  // zlib takes a null pointer for a request to begin
      value_ = crc32_z(value_, static_cast<const Bytef*>(bytes), size);
    }
  }

  [[nodiscard]] std::string text() const {
    std::array<char, 24> digits{};
    std::snprintf(digits.data(), digits.size(), "%08lx", value_);
    return digits.data();
  }

 private:
  uLong value_ = 0;
};

// Row-major on the CPU.
torch::Tensor as_written(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU).resolve_neg().contiguous();
}

void add_checksum(detail::Header& header, const NamedTensors& tensors) {
  Checksum checksum(header);
  for (const detail::TensorEntry& entry : header.entries) {
    const torch::Tensor bytes = as_written(tensors.at(entry.name));
    checksum.add(bytes.data_ptr(), bytes.nbytes());
  }
  header.metadata[kChecksumKey] = checksum.text();
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) {
    std::error_code error;
    size_ = std::filesystem::file_size(path, error);
    if (error) {
      fail(path.string(), ": cannot be read: ", error.message());
    }
    stream_.open(path, std::ios::binary);
    if (!stream_) {
      fail(path.string(), ": cannot be opened: no permission?");
    }
  }

  // Both throw Error without the file's name.

  detail::Header read_header() {
    std::uint64_t length = 0;
    if (size_ < sizeof(length)) {
      fail(size_, " bytes, expected at least ", sizeof(length));
    }
    read_bytes(&length, sizeof(length));
    const std::uint64_t rest = size_ - sizeof(length);
    if (length > detail::kMaxHeaderBytes || length > rest) {
      fail("its header would have ", length, " bytes, of ", size_, " in all");
    }
    std::string text(length, '\0');
    read_bytes(text.data(), length);
    return detail::parse_header(text, rest - length);
  }

  TensorFile read() {
    detail::Header header = read_header();
    const auto written = header.metadata.find(kChecksumKey);
    std::optional<Checksum> checksum;
    if (written != header.metadata.end()) {
      checksum.emplace(header);
    }
    TensorFile file;
    for (const detail::TensorEntry& entry : header.entries) {
      const torch::Tensor tensor = read_tensor(entry);
      if (checksum) {
        checksum->add(tensor.data_ptr(), tensor.nbytes());
      }
      file.tensors.emplace(entry.name, tensor);
    }
    if (checksum && checksum->text() != written->second) {
      fail("its bytes do not match its checksum: it was damaged or edited");
    }
    file.metadata = std::move(header.metadata);
    file.metadata.erase(kChecksumKey);
    return file;
  }

 private:
  torch::Tensor read_tensor(const detail::TensorEntry& entry) {
    torch::Tensor tensor = torch::empty(entry.shape, entry.type);
    const std::uint64_t size = entry.end - entry.begin;
    read_bytes(tensor.data_ptr(), size);
    if (entry.type == torch::kBool) {
      // Any other byte in a bool is undefined behaviour.
      const auto* bytes = static_cast<const std::uint8_t*>(tensor.data_ptr());
      if (std::any_of(bytes, bytes + size, [](auto byte) {
            return byte > 1;
          })) {
        fail("a BOOL tensor with other bytes than 0 and 1");
      }
    }
    return tensor;
  }

  void read_bytes(void* destination, std::uint64_t size) {
    if (size == 0) {
      return;
    }
    stream_.read(
        static_cast<char*>(destination),
        static_cast<std::streamsize>(size));
    if (!stream_) {
      fail("ends early, it had ", size_, " bytes");
    }
  }

  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

template <class Use>
auto read_with(const std::filesystem::path& path, const Use& use) {
  Reader reader(path);
  try {
    return use(reader);
  } catch (const Error& error) {
    fail(path.string(), ": not a whole safetensors file: ", error.what());
  }
}

}  // namespace

void write_safetensors(
    const std::filesystem::path& path,
    const TensorFile& file) {
  detail::Header header;
  std::string text;
  try {
    header = detail::plan_header(file);
    add_checksum(header, file.tensors);
    text = detail::header_text(header);
    text.resize((text.size() + 7) / 8 * 8, ' ');
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  const std::uint64_t length = text.size();
  AtomicFile output(path);
  output.write(&length, sizeof(length));
  output.write(text.data(), text.size());
  for (const detail::TensorEntry& entry : header.entries) {
    const torch::Tensor bytes = as_written(file.tensors.at(entry.name));
    output.write(bytes.data_ptr(), bytes.nbytes());
  }
  output.commit();
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  return read_with(path, [](Reader& reader) { return reader.read(); });
}

Metadata read_safetensors_metadata(const std::filesystem::path& path) {
  Metadata metadata = read_with(path, [](Reader& reader) {
    return reader.read_header().metadata;
  });
  metadata.erase(kChecksumKey);
  return metadata;
}

}  // namespace barlow::state
