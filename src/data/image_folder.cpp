// SPDX-License-Identifier: MIT
//
// Image files in folders: where the parts and the labels are (the rules are in
// dataset.h), and reading one file at a time.

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/data/decode.h"
#include "data/dataset_kinds.h"

namespace barlow::data::detail {
namespace {

namespace fs = std::filesystem;

bool is_image(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) {
    return false;
  }
  std::string ending = name.substr(dot + 1);
  for (char& letter : ending) {
    if (letter >= 'A' && letter <= 'Z') {
      letter = static_cast<char>(letter - 'A' + 'a');
    }
  }
  return ending == "jpg" || ending == "jpeg" || ending == "png" ||
         ending == "webp" || ending == "bmp";
}

/// Image files below a folder.
class ImageFinder {
 public:
  explicit ImageFinder(const fs::path& root) {
    visit(root, "");
    std::sort(found_.begin(), found_.end());
  }

  /// Paths relative to the folder, as sorted bytes.
  std::vector<std::string> take() { return std::move(found_); }

 private:
  void visit(const fs::path& folder, const std::string& relative) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    // Links back to a folder that this one lies in would never end.
    if (error ||
        std::find(above_.begin(), above_.end(), real) != above_.end()) {
      return;
    }
    above_.push_back(real);
    const Listing listing = list_folder(folder);
    for (const std::string& name : listing.files) {
      if (is_image(name)) {
        found_.push_back(relative + name);
      }
    }
    for (const std::string& name : listing.dangling) {
      if (is_image(name)) {
        fail<UsageError>(
            (folder / name).string(),
            ": found a link to nothing, expected an image");
      }
    }
    for (const std::string& name : listing.folders) {
      visit(folder / name, relative + name + "/");
    }
    above_.pop_back();
  }

  std::vector<fs::path> above_;
  std::vector<std::string> found_;
};

/// A folder of images, and the classes if it has labels.
struct Part {
  fs::path folder;
  std::vector<std::string> paths;  // relative to `folder`
  std::vector<std::int64_t> labels;
  std::vector<std::string> class_names;
};

class ImageFolder final : public Dataset {
 public:
  explicit ImageFolder(Part part) : part_(std::move(part)) {}

  [[nodiscard]] std::int64_t size() const override {
    return static_cast<std::int64_t>(part_.paths.size());
  }

  [[nodiscard]] Image load(std::int64_t index) const override {
    const fs::path path = path_of(index);
    return decode_image(read_file(path), path.string());
  }

  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    const auto i = static_cast<std::size_t>(index);
    if (part_.labels.empty() && i < part_.paths.size()) {
      return -1;
    }
    return part_.labels.at(i);
  }

  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return part_.class_names;
  }

  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return path_of(index).string();
  }

 private:
  [[nodiscard]] fs::path path_of(std::int64_t index) const {
    return part_.folder / part_.paths.at(static_cast<std::size_t>(index));
  }

  Part part_;
};

/// Puts the images in the order of their classes and labels them, if the
/// folders of the part are classes.
void find_classes(Part& part) {
  std::map<std::string, bool> has_images_directly;
  for (const std::string& path : part.paths) {
    const std::size_t slash = path.find('/');
    if (slash == std::string::npos) {
      return;
    }
    const bool direct = path.find('/', slash + 1) == std::string::npos;
    has_images_directly[path.substr(0, slash)] |= direct;
  }
  if (has_images_directly.size() < 2) {
    return;
  }
  for (const auto& [name, direct] : has_images_directly) {
    if (!direct) {
      return;
    }
  }
  for (const auto& [name, direct] : has_images_directly) {
    part.class_names.push_back(name);
  }
  // A path sorts "a-b/x" before "a/x", the names "a" before "a-b".
  const auto class_of = [](const std::string& path) {
    return std::string_view{path}.substr(0, path.find('/'));
  };
  std::stable_sort(
      part.paths.begin(),
      part.paths.end(),
      [&](const std::string& a, const std::string& b) {
        return class_of(a) < class_of(b);
      });
  part.labels.reserve(part.paths.size());
  std::size_t label = 0;
  for (const std::string& path : part.paths) {
    while (part.class_names[label] != class_of(path)) {
      ++label;
    }
    part.labels.push_back(static_cast<std::int64_t>(label));
  }
}

bool has_images(const fs::path& folder) {
  const Listing listing = list_folder(folder);
  return std::any_of(listing.files.begin(), listing.files.end(), is_image);
}

bool has_parts(const fs::path& folder, const Listing& listing) {
  const bool train = listing.has_folder("train");
  const bool test = listing.has_folder("val") || listing.has_folder("test");
  if (!train && !test) {
    return false;
  }
  if (std::any_of(listing.files.begin(), listing.files.end(), is_image)) {
    return false;
  }
  return (train && test) || std::none_of(
                                listing.folders.begin(),
                                listing.folders.end(),
                                [&](const std::string& name) {
                                  return name != "train" && name != "val" &&
                                         name != "test" &&
                                         has_images(folder / name);
                                });
}

/// The folder of a part of a data set that has parts.
fs::path
part_folder(const fs::path& folder, const Listing& listing, Split split) {
  const std::string name = split == Split::kTrain      ? "train"
                           : listing.has_folder("val") ? "val"
                                                       : "test";
  if (!listing.has_folder(name)) {
    fail<UsageError>(
        folder.string(),
        split == Split::kTrain
            ? ": found val or test but no train, expected the training part "
              "in a folder train"
            : ": found train but no val, expected the test part in a folder "
              "val or test");
  }
  return folder / name;
}

}  // namespace

std::unique_ptr<Dataset>
open_image_folder(const fs::path& folder, const Listing& listing, Split split) {
  Part part;
  if (has_parts(folder, listing)) {
    part.folder = part_folder(folder, listing, split);
    part.paths = ImageFinder(part.folder).take();
    if (part.paths.empty()) {
      fail<UsageError>(
          part.folder.string(),
          ": found no images, expected .jpg, .jpeg, .png, .webp or .bmp files");
    }
  } else {
    part.folder = folder;
    part.paths = ImageFinder(folder).take();
    if (part.paths.empty()) {
      return nullptr;
    }
    if (split == Split::kTest) {
      fail<UsageError>(
          folder.string(),
          ": found no test part, expected folders train and val (or test)");
    }
  }
  find_classes(part);
  return std::make_unique<ImageFolder>(std::move(part));
}

}  // namespace barlow::data::detail
