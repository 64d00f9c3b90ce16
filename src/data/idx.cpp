// SPDX-License-Identifier: MIT
//
// The MNIST family: which IDX files of a folder are which part.

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "barlow/core/error.h"
#include "data/dataset_kinds.h"
#include "data/idx_file.h"

namespace barlow::data::detail {
namespace {

namespace fs = std::filesystem;

std::vector<std::int64_t> read_labels(const fs::path& path) {
  const Idx idx = read_idx(path, 1);
  return {idx.numbers.begin(), idx.numbers.end()};
}

/// The name of an images file: "train-images-idx3-ubyte.gz" and the like.
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
