// SPDX-License-Identifier: MIT
//
// A numbered set of images, wherever they lie.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "barlow/data/image.h"

namespace barlow::data {

/// Which part of a data set that has parts.
enum class Split : std::uint8_t {
  kTrain,
  kTest,  ///< the test or validation part, for evaluation only
};

/// A fixed sequence of images, some with labels.
///
/// The order is a function of the files' names and contents alone, the same on
/// every machine. Thread-safe: const members may run concurrently.
class Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  Dataset(Dataset&&) = delete;
  Dataset& operator=(Dataset&&) = delete;
  virtual ~Dataset() = default;

  /// Number of images, at least 1.
  [[nodiscard]] virtual std::int64_t size() const = 0;

  /// Decodes image `index` in [0, size()), upright, in its own channel count.
  /// Throws Error, naming the file, if it cannot be read or decoded, and
  /// std::out_of_range for any other index.
  [[nodiscard]] virtual Image load(std::int64_t index) const = 0;

  /// The class of image `index`, in [0, class_names().size()), or -1 where the
  /// set has no labels.
  [[nodiscard]] virtual std::int64_t label(std::int64_t index) const = 0;

  /// Class names in label order; empty where the set has no labels.
  [[nodiscard]] virtual const std::vector<std::string>& class_names() const = 0;

  /// Where image `index` comes from, for messages: a path, or "file, item 17".
  [[nodiscard]] virtual std::string describe(std::int64_t index) const = 0;

  [[nodiscard]] bool has_labels() const { return !class_names().empty(); }
};

/// Opens what lies at `path`, whose kind is recognised by the names in it:
///
///     IDX      train-images-idx3-ubyte and t10k-images-idx3-ubyte (MNIST,
///              Fashion-MNIST, KMNIST, ...; a prefix, ".idx3" for "-idx3" and
///              "test" for "t10k" are fine), plain or .gz, with the labels, if
///              any, in ...-labels-idx1-ubyte. Or the path of an images file:
///              the part that its name says, the training part if none.
///     CIFAR    data_batch_1.bin to data_batch_5.bin and test_batch.bin (10),
///              or train.bin and test.bin (100, fine labels); class names from
///              batches.meta.txt or fine_label_names.txt where present
///     images   a folder with .jpg, .jpeg, .png, .webp and .bmp files (any
///              case) at any depth
///
/// Parts of a folder of images: the training part is its folder train, the test
/// part its folder val, or test where there is no val. That holds if both parts
/// are there, or one of them and no other folder beside it with images directly
/// in it. Otherwise all of it is the training part, and there is no test part.
///
/// Labels of a folder of images: a part has labels if none of its images lie
/// directly in it, and they lie in two or more folders of it, each of which has
/// images directly in it. These folders are the classes, in the order of their
/// names; images deeper down belong to the class above. Otherwise the part has
/// no labels.
///
/// Images are ordered by class, then path, compared as bytes. Names that begin
/// with a dot are skipped, links are followed, and a link to a folder that it
/// lies in is skipped. Whether files can be decoded is only seen in `load`.
///
/// IDX and CIFAR sets are held in memory as they are: one byte a sample. A
/// folder of images costs about 100 bytes per image, and one pass over its
/// names.
///
/// Throws UsageError, naming the path, what was found there and what was
/// expected: also if the asked split does not exist, or a file is damaged.
[[nodiscard]] std::unique_ptr<Dataset> open_dataset(
    const std::filesystem::path& path,
    Split split);

/// Refuses parts that a classifier cannot be trained and measured on: one
/// without labels, other class names in the test part than in the training
/// part, or a test image of a class with no training image. Throws UsageError
/// that starts with `name` or the image's own, and names the class.
/// Cost: reads all labels.
void require_same_classes(
    const Dataset& train,
    const Dataset& test,
    const std::string& name);

}  // namespace barlow::data
