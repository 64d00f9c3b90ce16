// SPDX-License-Identifier: MIT

#include "data/idx_file.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <system_error>
#include <zlib.h>

#include "barlow/core/error.h"

namespace barlow::data::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSide = 1 << 14;  // px

// Deflate cannot do better than 258 bytes for 2 bits. A header that claims more
// than its file can hold is refused before anything is allocated.
constexpr std::uint64_t kMaxCompression = 1032;

/// A file that zlib reads, whether compressed or not.
class IdxFile {
 public:
  explicit IdxFile(const fs::path& path)
      : path_(path), file_(gzopen(path.c_str(), "rb")) {
    std::error_code error;
    bytes_ = fs::file_size(path, error);
    if (file_ == nullptr || error) {
      fail<UsageError>(path.string(), ": cannot be read: ", error.message());
    }
    gzbuffer(file_.get(), 1U << 17U);
  }

  void read(std::span<std::uint8_t> out) {
    if (read_some(out) != out.size()) {
      refuse("it is cut short");
    }
  }

  void expect_end() {
    std::array<std::uint8_t, 1> more{};
    if (read_some(more) != 0) {
      refuse("it goes on after the numbers that its header announces");
    }
  }

  /// No more than this many bytes come out of the file.
  [[nodiscard]] std::uint64_t most_bytes() {
    return gzdirect(file_.get()) != 0 ? bytes_ : bytes_ * kMaxCompression;
  }

  template <class... Reason>
  [[noreturn]] void refuse(const Reason&... reason) const {
    fail<UsageError>(path_.string(), ": not a usable IDX file: ", reason...);
  }

 private:
  std::size_t read_some(std::span<std::uint8_t> out) {
    constexpr std::size_t kPiece = 1U << 30U;  // gzread counts in int
    std::size_t done = 0;
    while (done < out.size()) {
      const auto piece =
          static_cast<unsigned>(std::min(out.size() - done, kPiece));
      const int got = gzread(file_.get(), out.data() + done, piece);
      int code = Z_OK;
      const char* message = gzerror(file_.get(), &code);
      if (got < 0 || code == Z_BUF_ERROR) {
        refuse(code == Z_BUF_ERROR ? "it is cut short" : message);
      }
      if (got == 0) {
        break;
      }
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  struct Closer {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };

  fs::path path_;
  std::unique_ptr<gzFile_s, Closer> file_;
  std::uintmax_t bytes_ = 0;
};

std::uint64_t count_numbers(
    const IdxFile& file,
    const std::vector<std::uint64_t>& dimensions) {
  for (std::size_t i = 1; i < dimensions.size(); ++i) {
    if (dimensions[i] == 0 || dimensions[i] > kMaxSide) {
      file.refuse(
          "found images of ",
          dimensions[1],
          " x ",
          dimensions[2],
          " px, expected sides of 1 to ",
          kMaxSide);
    }
  }
  // At most 2^32 * 2^14 * 2^14: no overflow.
  std::uint64_t count = 1;
  for (const std::uint64_t size : dimensions) {
    count *= size;
  }
  if (count == 0) {
    file.refuse("it holds no items");
  }
  return count;
}

}  // namespace

Idx read_idx(const fs::path& path, std::size_t dimensions) {
  IdxFile file(path);
  std::array<std::uint8_t, 4> magic{};
  file.read(magic);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 ||
      magic[3] != dimensions) {
    file.refuse(
        "found ",
        int{magic[0]},
        " ",
        int{magic[1]},
        " ",
        int{magic[2]},
        " ",
        int{magic[3]},
        " at its start, expected 0 0 8 ",
        dimensions);
  }
  Idx idx;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::array<std::uint8_t, 4> d{};
    file.read(d);
    idx.dimensions.push_back(
        std::uint64_t{d[0]} << 24U | d[1] << 16U | d[2] << 8U | d[3]);
  }
  const std::uint64_t count = count_numbers(file, idx.dimensions);
  if (count > file.most_bytes()) {
    file.refuse(
        "its header announces ",
        count,
        " bytes, more than the file can hold");
  }
  idx.numbers.resize(count);
  file.read(idx.numbers);
  file.expect_end();
  return idx;
}

}  // namespace barlow::data::detail
