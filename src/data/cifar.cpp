// SPDX-License-Identifier: MIT
//
// CIFAR-10 and CIFAR-100, "binary version" (A. Krizhevsky, 2009). A file is a
// sequence of records without a header:
//
//     labels   1 byte (10) or 2 (100: coarse, then fine)
//     pixels   3072 bytes: planes of 32 x 32, red, green, blue

#include <algorithm>
#include <fstream>

#include "barlow/core/error.h"
#include "data/dataset_kinds.h"

namespace barlow::data::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSide = 32;
constexpr std::size_t kPlane = kSide * kSide;
constexpr std::size_t kImage = 3 * kPlane;

struct Layout {
  std::vector<std::string> train;
  std::string test;
  std::string names;
  std::size_t label_bytes;
  std::int64_t classes;
};

const Layout& cifar10() {
  static const Layout kLayout{
      {"data_batch_1.bin",
       "data_batch_2.bin",
       "data_batch_3.bin",
       "data_batch_4.bin",
       "data_batch_5.bin"},
      "test_batch.bin",
      "batches.meta.txt",
      1,
      10};
  return kLayout;
}

const Layout& cifar100() {
  static const Layout kLayout{
      {"train.bin"},
      "test.bin",
      "fine_label_names.txt",
      2,
      100};
  return kLayout;
}

const Layout* layout_of(const fs::path& folder, const Listing& listing) {
  if (listing.has_file("data_batch_1.bin") ||
      listing.has_file("test_batch.bin")) {
    return &cifar10();
  }
  if (listing.has_file("train.bin") || listing.has_file("test.bin")) {
    return &cifar100();
  }
  if (listing.has_file("data_batch_1") && listing.has_file("test_batch")) {
    fail<UsageError>(
        folder.string(),
        ": found the Python version of CIFAR-10, expected the binary version "
        "(data_batch_1.bin)");
  }
  return nullptr;
}

std::vector<std::uint8_t> read_records(
    const fs::path& file,
    std::size_t record_bytes) {
  std::vector<std::uint8_t> bytes;
  try {
    bytes = read_file(file);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  if (bytes.empty() || bytes.size() % record_bytes != 0) {
    fail<UsageError>(
        file.string(),
        ": found ",
        bytes.size(),
        " bytes, expected a multiple of ",
        record_bytes,
        " (a CIFAR record)");
  }
  return bytes;
}

void append_records(
    const Layout& layout,
    const fs::path& file,
    ImageArray& images) {
  const std::size_t record_bytes = layout.label_bytes + kImage;
  const std::vector<std::uint8_t> bytes = read_records(file, record_bytes);
  const std::size_t count = bytes.size() / record_bytes;
  images.sources.push_back({file.string(), static_cast<std::int64_t>(count)});
  std::size_t out = images.pixels.size();
  images.pixels.resize(out + count * kImage);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* record = bytes.data() + i * record_bytes;
    const std::int64_t label = record[layout.label_bytes - 1];
    if (label >= layout.classes) {
      fail<UsageError>(
          file.string(),
          ", item ",
          i,
          ": found label ",
          label,
          ", expected one below ",
          layout.classes);
    }
    images.labels.push_back(label);
    const std::uint8_t* planes = record + layout.label_bytes;
    for (std::size_t p = 0; p < kPlane; ++p) {
      for (std::size_t c = 0; c < 3; ++c) {
        images.pixels[out++] = planes[c * kPlane + p];
      }
    }
  }
}

std::vector<std::string> read_names(const fs::path& file, std::int64_t count) {
  std::ifstream stream(file);
  std::vector<std::string> names;
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    if (!line.empty()) {
      names.push_back(line);
    }
  }
  if (static_cast<std::int64_t>(names.size()) != count) {
    fail<UsageError>(
        file.string(),
        ": found ",
        names.size(),
        " class names, expected ",
        count,
        ", one a line");
  }
  return names;
}

}  // namespace

std::unique_ptr<Dataset>
open_cifar(const fs::path& folder, const Listing& listing, Split split) {
  const Layout* layout = layout_of(folder, listing);
  if (layout == nullptr) {
    return nullptr;
  }
  const std::vector<std::string> names =
      split == Split::kTrain ? layout->train
                             : std::vector<std::string>{layout->test};
  ImageArray images{.width = kSide, .height = kSide, .channels = 3};
  for (const std::string& name : names) {
    if (!listing.has_file(name)) {
      fail<UsageError>(
          folder.string(),
          ": found a CIFAR-",
          layout->classes,
          " data set without ",
          name,
          ", expected for the ",
          name_of(split),
          " part");
    }
    append_records(*layout, folder / name, images);
  }
  images.class_names = listing.has_file(layout->names)
                           ? read_names(folder / layout->names, layout->classes)
                           : numbered_names(layout->classes);
  return make_array_dataset(std::move(images));
}

}  // namespace barlow::data::detail
