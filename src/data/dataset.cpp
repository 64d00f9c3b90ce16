// SPDX-License-Identifier: MIT

#include "barlow/data/dataset.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <system_error>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "data/dataset_kinds.h"

namespace barlow::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected IDX files (train-images-idx3-ubyte), CIFAR files "
    "(data_batch_1.bin or train.bin), or images (.jpg, .jpeg, .png, .webp, "
    ".bmp), also in folders";

class ArrayDataset final : public Dataset {
 public:
  explicit ArrayDataset(detail::ImageArray images)
      : images_(std::move(images)),
        image_bytes_(
            static_cast<std::size_t>(images_.width) *
            static_cast<std::size_t>(images_.height) *
            static_cast<std::size_t>(images_.channels)),
        size_(static_cast<std::int64_t>(images_.pixels.size() / image_bytes_)) {
  }

  [[nodiscard]] std::int64_t size() const override { return size_; }

  [[nodiscard]] Image load(std::int64_t index) const override {
    check(index);
    Image image(images_.width, images_.height, images_.channels);
    std::copy_n(
        images_.pixels.begin() +
            index * static_cast<std::ptrdiff_t>(image_bytes_),
        image_bytes_,
        image.pixels.begin());
    return image;
  }

  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    check(index);
    return images_.labels.empty()
               ? -1
               : images_.labels[static_cast<std::size_t>(index)];
  }

  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return images_.class_names;
  }

  [[nodiscard]] std::string describe(std::int64_t index) const override {
    check(index);
    auto source = images_.sources.begin();
    while (index >= source->images) {
      index -= source->images;
      ++source;
    }
    return source->file + ", item " + std::to_string(index);
  }

 private:
  void check(std::int64_t index) const {
    if (index < 0 || index >= size_) {
      throw std::out_of_range(
          "image " + std::to_string(index) + " of " + std::to_string(size_));
    }
  }

  detail::ImageArray images_;
  std::size_t image_bytes_;
  std::int64_t size_;
};

/// "3 folders and 12 files (.gif, .txt)".
std::string summary(const detail::Listing& listing) {
  if (listing.files.empty() && listing.folders.empty()) {
    return "an empty folder";
  }
  std::map<std::string, int> endings;
  for (const std::string& name : listing.files) {
    const std::string ending = fs::path(name).extension().string();
    ++endings[ending.empty() ? "no ending" : ending];
  }
  std::vector<std::string> names;
  for (const auto& [ending, count] : endings) {
    if (names.size() == 5) {
      names.emplace_back("...");
      break;
    }
    names.push_back(ending);
  }
  std::string text = "a folder with " + std::to_string(listing.folders.size()) +
                     " folders and " + std::to_string(listing.files.size()) +
                     " files";
  return names.empty() ? text : text + " (" + join(names) + ")";
}

// The first name of `names` that is not among `others`, or "".
std::string first_missing(
    const std::vector<std::string>& names,
    const std::vector<std::string>& others) {
  for (const std::string& name : names) {
    if (std::find(others.begin(), others.end(), name) == others.end()) {
      return name;
    }
  }
  return "";
}

void require_same_names(
    const std::vector<std::string>& train,
    const std::vector<std::string>& test,
    const std::string& name) {
  if (train == test) {
    return;
  }
  const std::string new_class = first_missing(test, train);
  fail<UsageError>(
      name,
      ": the training part has ",
      train.size(),
      " classes, the test part ",
      test.size(),
      new_class.empty() ? ", which lacks " + first_missing(train, test)
                        : ", with " + new_class + " that is not in training",
      "; expected the same in both");
}

}  // namespace

std::unique_ptr<Dataset> detail::make_array_dataset(ImageArray images) {
  return std::make_unique<ArrayDataset>(std::move(images));
}

std::unique_ptr<Dataset> open_dataset(const fs::path& path, Split split) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    fail<UsageError>(
        path.string(),
        ": found nothing, expected a file or folder of images");
  }
  if (!fs::is_directory(status)) {
    auto dataset = detail::open_idx_file(path, split);
    if (dataset == nullptr) {
      fail<UsageError>(
          path.string(),
          ": found a file of an unknown kind, expected a folder or an IDX file "
          "(train-images-idx3-ubyte, plain or .gz)");
    }
    return dataset;
  }
  const detail::Listing listing = detail::list_folder(path);
  for (const auto opener :
       {&detail::open_idx_folder,
        &detail::open_cifar,
        &detail::open_image_folder}) {
    if (auto dataset = opener(path, listing, split)) {
      return dataset;
    }
  }
  fail<UsageError>(
      path.string(),
      ": found ",
      summary(listing),
      listing.files.empty() ? ", " : ", none of them images, ",
      kExpected);
}

void require_same_classes(
    const Dataset& train,
    const Dataset& test,
    const std::string& name) {
  for (const Dataset* part : {&train, &test}) {
    if (!part->has_labels()) {
      fail<UsageError>(
          name,
          ": found no labels in the ",
          detail::name_of(part == &train ? Split::kTrain : Split::kTest),
          " part, expected two or more class folders, or a labelled set");
    }
  }
  require_same_names(train.class_names(), test.class_names(), name);
  std::vector<bool> trained(train.class_names().size());
  for (std::int64_t i = 0; i < train.size(); ++i) {
    trained.at(static_cast<std::size_t>(train.label(i))) = true;
  }
  for (std::int64_t i = 0; i < test.size(); ++i) {
    const auto label = static_cast<std::size_t>(test.label(i));
    if (!trained.at(label)) {
      fail<UsageError>(
          test.describe(i),
          ": found class ",
          test.class_names()[label],
          ", of which the training part has no image");
    }
  }
}

}  // namespace barlow::data
