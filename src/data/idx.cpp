// SPDX-License-Identifier: MIT
//
// IDX files of unsigned bytes, the format of MNIST (Y. LeCun, C. Cortes,
// C. J. C. Burges), plain or compressed by gzip:
//
//     bytes 0, 1   0        byte 2   8, unsigned bytes
//     byte  3      number of dimensions: 3 for images, 1 for labels
//     then each dimension (count, height, width), 4 bytes, big-endian
//     then the numbers

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <zlib.h>

#include "barlow/core/error.h"
#include "data/dataset_kinds.h"

namespace barlow::data::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxSide = 1 << 14;  // px

// Deflate cannot do better than 258 bytes for 2 bits. A header that claims more
// than its file can hold is refused before anything is allocated.
constexpr std::uint64_t kMaxCompression = 1032;

struct Idx {
  std::vector<std::uint64_t> dimensions;
  std::vector<std::uint8_t> numbers;
};

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

std::vector<std::int64_t> read_labels(const fs::path& path) {
  const Idx idx = read_idx(path, 1);
  return {idx.numbers.begin(), idx.numbers.end()};
}

/// How a file is called: PREFIX "train" MIDDLE "images" "-idx3-ubyte" END.
struct ImagesName {
  std::string name;
  std::optional<Split> split;  // none if the name does not say
};

constexpr std::string_view kImages = "images";

std::optional<ImagesName> parse_name(const std::string& name) {
  std::string_view stem = name;
  if (stem.ends_with(".gz")) {
    stem.remove_suffix(3);
  }
  if (!stem.ends_with("images-idx3-ubyte") &&
      !stem.ends_with("images.idx3-ubyte")) {
    return std::nullopt;
  }
  std::optional<Split> split;
  if (stem.find("train") != std::string_view::npos) {
    split = Split::kTrain;
  } else if (
      stem.find("t10k") != std::string_view::npos ||
      stem.find("test") != std::string_view::npos) {
    split = Split::kTest;
  }
  return ImagesName{name, split};
}

/// The file with the labels of an images file, if it is there.
std::optional<fs::path> labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  name.replace(name.rfind(kImages), kImages.size(), "labels");
  name.replace(name.rfind("idx3"), 4, "idx1");
  std::vector<std::string> names{name};
  if (name.ends_with(".gz")) {
    names.push_back(name.substr(0, name.size() - 3));
  } else {
    names.push_back(name + ".gz");
  }
  for (const std::string& candidate : names) {
    if (fs::exists(images.parent_path() / candidate)) {
      return images.parent_path() / candidate;
    }
  }
  return std::nullopt;
}

std::unique_ptr<Dataset> open_files(
    const fs::path& images_file,
    const std::optional<fs::path>& other_images_file) {
  Idx idx = read_idx(images_file, 3);
  ImageArray images{
      .width = static_cast<int>(idx.dimensions[2]),
      .height = static_cast<int>(idx.dimensions[1]),
      .channels = 1,
      .pixels = std::move(idx.numbers)};
  const auto count = static_cast<std::int64_t>(idx.dimensions[0]);
  images.sources = {{images_file.string(), count}};
  if (const auto labels_file = labels_beside(images_file)) {
    images.labels = read_labels(*labels_file);
    if (static_cast<std::int64_t>(images.labels.size()) != count) {
      fail<UsageError>(
          labels_file->string(),
          ": found ",
          images.labels.size(),
          " labels, expected ",
          count,
          ", as many as images");
    }
    std::int64_t largest =
        *std::max_element(images.labels.begin(), images.labels.end());
    // The other part may have a class that this one lacks.
    const auto other =
        other_images_file ? labels_beside(*other_images_file) : std::nullopt;
    if (other) {
      const std::vector<std::int64_t> labels = read_labels(*other);
      largest =
          std::max(largest, *std::max_element(labels.begin(), labels.end()));
    }
    images.class_names = numbered_names(largest + 1);
  }
  return make_array_dataset(std::move(images));
}

/// The images file of a part. Of a name with and without .gz the plain one.
std::optional<fs::path> find_images(
    const fs::path& folder,
    const std::vector<ImagesName>& names,
    Split split) {
  std::optional<fs::path> found;
  for (const ImagesName& candidate : names) {
    if (candidate.split != split) {
      continue;
    }
    const fs::path path = folder / candidate.name;
    if (found && path != found->string() + ".gz") {
      fail<UsageError>(
          folder.string(),
          ": found both ",
          found->filename().string(),
          " and ",
          candidate.name,
          ", expected one ",
          name_of(split),
          " part; give the path of the images file");
    }
    found = found ? found : path;
  }
  return found;
}

std::vector<ImagesName> images_names(const Listing& listing) {
  std::vector<ImagesName> names;
  for (const std::string& name : listing.files) {
    if (const auto parsed = parse_name(name)) {
      names.push_back(*parsed);
    }
  }
  return names;
}

Split other_split(Split split) {
  return split == Split::kTrain ? Split::kTest : Split::kTrain;
}

}  // namespace

std::unique_ptr<Dataset>
open_idx_folder(const fs::path& folder, const Listing& listing, Split split) {
  const std::vector<ImagesName> names = images_names(listing);
  if (names.empty()) {
    return nullptr;
  }
  const auto images = find_images(folder, names, split);
  if (!images) {
    fail<UsageError>(
        folder.string(),
        ": found IDX files, such as ",
        names.front().name,
        ", but none of the ",
        name_of(split),
        " part, expected ",
        split == Split::kTrain ? "train" : "t10k",
        "-images-idx3-ubyte, plain or .gz");
  }
  return open_files(*images, find_images(folder, names, other_split(split)));
}

std::unique_ptr<Dataset> open_idx_file(const fs::path& file, Split split) {
  const auto name = parse_name(file.filename().string());
  if (!name) {
    return nullptr;
  }
  const Split part = name->split.value_or(Split::kTrain);
  if (part != split) {
    fail<UsageError>(
        file.string(),
        ": found the ",
        name_of(part),
        " part, expected the ",
        name_of(split),
        " part; give the folder of both");
  }
  // The other part of the same set has the same name but for the part's.
  for (const auto& [own, other] :
       {std::pair{"train", "t10k"},
        std::pair{"train", "test"},
        std::pair{"t10k", "train"},
        std::pair{"test", "train"}}) {
    std::string sibling = name->name;
    const std::size_t at = sibling.find(own);
    if (at != std::string::npos) {
      sibling.replace(at, std::string_view(own).size(), other);
      if (fs::exists(file.parent_path() / sibling)) {
        return open_files(file, file.parent_path() / sibling);
      }
    }
  }
  return open_files(file, std::nullopt);
}

}  // namespace barlow::data::detail
