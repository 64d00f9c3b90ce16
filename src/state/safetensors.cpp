// SPDX-License-Identifier: MIT

#include "barlow/state/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/state/atomic_file.h"
#include "state/safetensors_header.h"

namespace barlow::state {
namespace {

static_assert(
    std::endian::native == std::endian::little,
    "tensors are written as they lie in memory");

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

  /// Throws Error without the file's name.
  TensorFile read() {
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
    detail::Header header = detail::parse_header(text, rest - length);

    TensorFile file;
    file.metadata = std::move(header.metadata);
    for (const detail::TensorEntry& entry : header.entries) {
      file.tensors.emplace(entry.name, read_tensor(entry));
    }
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

}  // namespace

void write_safetensors(
    const std::filesystem::path& path,
    const TensorFile& file) {
  detail::Header header;
  std::string text;
  try {
    header = detail::plan_header(file);
    text = detail::header_text(header);
  } catch (const Error& error) {
    fail(path.string(), ": ", error.what());
  }
  const std::uint64_t length = text.size();
  AtomicFile output(path);
  output.write(&length, sizeof(length));
  output.write(text.data(), text.size());
  for (const detail::TensorEntry& entry : header.entries) {
    const torch::Tensor bytes = file.tensors.at(entry.name)
                                    .detach()
                                    .to(torch::kCPU)
                                    .resolve_neg()
                                    .contiguous();
    output.write(bytes.data_ptr(), bytes.nbytes());
  }
  output.commit();
}

TensorFile read_safetensors(const std::filesystem::path& path) {
  Reader reader(path);
  try {
    return reader.read();
  } catch (const Error& error) {
    fail(path.string(), ": not a whole safetensors file: ", error.what());
  }
}

}  // namespace barlow::state
