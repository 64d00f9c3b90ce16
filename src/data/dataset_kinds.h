// SPDX-License-Identifier: MIT
//
// The kinds of data sets behind open_dataset.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "barlow/data/dataset.h"

namespace barlow::data::detail {

/// The names in a folder without those that begin with a dot, as sorted bytes.
struct Listing {
  std::vector<std::string> files;
  std::vector<std::string> folders;
  std::vector<std::string> dangling;  ///< links to nothing

  [[nodiscard]] bool has_file(const std::string& name) const;
  [[nodiscard]] bool has_folder(const std::string& name) const;
};

/// Follows links. Cost: no system call per name, save for links. Throws
/// UsageError if the folder cannot be read.
Listing list_folder(const std::filesystem::path& folder);

/// All of a file. Throws Error, naming it, if it cannot be read.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path);

/// "train" or "test", for messages.
const char* name_of(Split split);

/// A file and how many images come from it.
struct ImageSource {
  std::string file;
  std::int64_t images = 0;
};

/// Images of one size, in memory.
struct ImageArray {
  int width = 0;
  int height = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels{};  ///< image by image, each as in Image
  std::vector<std::int64_t> labels{};  ///< one per image, or empty
  std::vector<std::string> class_names{};
  std::vector<ImageSource> sources{};  ///< in order
};

std::unique_ptr<Dataset> make_array_dataset(ImageArray images);

/// "0", "1", ... : names of classes that have none.
std::vector<std::string> numbered_names(std::int64_t count);

// Each opener returns nothing where the names are not those of its kind, and
// throws UsageError if they are but cannot be used.
std::unique_ptr<Dataset> open_idx_file(
    const std::filesystem::path& file,
    Split split);
std::unique_ptr<Dataset> open_idx_folder(
    const std::filesystem::path& folder,
    const Listing& listing,
    Split split);
std::unique_ptr<Dataset> open_cifar(
    const std::filesystem::path& folder,
    const Listing& listing,
    Split split);
std::unique_ptr<Dataset> open_image_folder(
    const std::filesystem::path& folder,
    const Listing& listing,
    Split split);

}  // namespace barlow::data::detail
