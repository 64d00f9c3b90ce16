// SPDX-License-Identifier: MIT
//
// A numbered set of images, wherever they lie.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "barlow/data/image.h"

namespace barlow::data {

/// Which part of a data set that has parts.
enum class Split {
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
  /// Throws Error, naming the file, if it cannot be decoded.
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

/// Opens what lies at `path`, whose kind is recognised by its contents:
///
///     IDX           a folder with train-images-idx3-ubyte (or .gz) and the
///                   like (MNIST, Fashion-MNIST, KMNIST), train and t10k
///     CIFAR         a folder with data_batch_1.bin ... (10) or train.bin (100)
///     class folders train/CLASS/*.jpg and val/CLASS/*.jpg (or test/), or
///                   CLASS/*.jpg at top level
///     images        a folder of images, flat or nested in folders that hold no
///                   more than themselves: no labels
///
/// Throws UsageError, naming the path, what was found there and what was
/// expected: also if the asked split does not exist.
[[nodiscard]] std::unique_ptr<Dataset> open_dataset(
    const std::filesystem::path& path,
    Split split);

}  // namespace barlow::data
