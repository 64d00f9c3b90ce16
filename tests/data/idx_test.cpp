// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/dataset_support.h"
#include "support/tensors.h"

namespace barlow::data {
namespace {

constexpr const char* kGarments = "/usr/share/datasets/fashion-mnist";

/// Two images of height 2 and width 3, with labels 4 and 0.
class IdxFolder : public testing::Test {
 protected:
  IdxFolder() {
    Bytes numbers(12);
    std::iota(numbers.begin(), numbers.end(), std::uint8_t{10});
    images_ = idx_bytes({2, 2, 3}, numbers);
    write("train-images-idx3-ubyte", images_);
    write("train-labels-idx1-ubyte", idx_bytes({2}, {4, 0}));
  }

  void write(const std::string& name, const Bytes& bytes) const {
    write_bytes(path() / name, bytes);
  }

  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

  Bytes images_;

 private:
  test::TemporaryFolder folder_;
};

std::int64_t weighted_sum(const Image& image) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    sum += static_cast<std::int64_t>(i) * image.pixels[i];
  }
  return sum;
}

TEST(OpenDataset, ReadsFashionMnistAsPythonDoes) {
  for (const bool train : {true, false}) {
    const auto dataset =
        open_dataset(kGarments, train ? Split::kTrain : Split::kTest);
    const std::int64_t size = train ? 60'000 : 10'000;
    ASSERT_EQ(dataset->size(), size);
    const NamedTensors expected = test::read_oracle(
        BARLOW_ORACLE_DIR,
        train ? "garments_train.safetensors" : "garments_t10k.safetensors");
    const auto* sums = expected.at("sums").data_ptr<std::int64_t>();
    const auto* labels = expected.at("labels").data_ptr<std::int64_t>();
    std::vector<std::int64_t> per_class(10);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      wrong += weighted_sum(dataset->load(i)) != sums[i] ? 1 : 0;
      wrong += dataset->label(i) != labels[i] ? 1 : 0;
      ++per_class.at(static_cast<std::size_t>(dataset->label(i)));
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(per_class, std::vector<std::int64_t>(10, size / 10));
    EXPECT_EQ(dataset->class_names().size(), 10U);
    EXPECT_EQ(dataset->load(0).channels, 1);
  }
}

TEST_F(IdxFolder, GivesRowsColumnsAndLabels) {
  const auto dataset = open_dataset(path(), Split::kTrain);
  ASSERT_EQ(dataset->size(), 2);
  const Image image = dataset->load(1);
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.channels, 1);
  EXPECT_EQ(image.pixels, (Bytes{16, 17, 18, 19, 20, 21}));
  EXPECT_EQ(dataset->label(0), 4);
  EXPECT_EQ(
      dataset->class_names(),
      (std::vector<std::string>{"0", "1", "2", "3", "4"}));
  EXPECT_EQ(
      dataset->describe(1),
      (path() / "train-images-idx3-ubyte").string() + ", item 1");
  EXPECT_THROW((void)dataset->load(2), std::out_of_range);
  EXPECT_THROW((void)dataset->load(-1), std::out_of_range);
}

TEST_F(IdxFolder, TakesTheClassesOfBothParts) {
  write("t10k-images-idx3-ubyte", images_);
  write("t10k-labels-idx1-ubyte", idx_bytes({2}, {6, 1}));
  for (const Split split : {Split::kTrain, Split::kTest}) {
    EXPECT_EQ(open_dataset(path(), split)->class_names().size(), 7U);
  }
  const auto file = path() / "train-images-idx3-ubyte";
  EXPECT_EQ(open_dataset(file, Split::kTrain)->class_names().size(), 7U);
}

TEST_F(IdxFolder, HasNoLabelsWithoutTheirFile) {
  fs::remove(path() / "train-labels-idx1-ubyte");
  const auto dataset = open_dataset(path(), Split::kTrain);
  EXPECT_FALSE(dataset->has_labels());
  EXPECT_EQ(dataset->label(1), -1);
}

TEST_F(IdxFolder, IsRecognisedByOtherNamesToo) {
  const test::TemporaryFolder other;
  write_gzip(
      other.path() / "emnist-letters-test-images.idx3-ubyte.gz",
      images_);
  write_bytes(
      other.path() / "emnist-letters-test-labels.idx1-ubyte",
      idx_bytes({2}, {1, 1}));
  const auto dataset = open_dataset(other.path(), Split::kTest);
  EXPECT_EQ(dataset->load(0).pixels, (Bytes{10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(dataset->label(1), 1);
}

TEST_F(IdxFolder, OpensTheImagesFileItself) {
  const auto file = path() / "train-images-idx3-ubyte";
  EXPECT_EQ(open_dataset(file, Split::kTrain)->label(0), 4);
  expect_refused(file, Split::kTest, {"training part", "test part"});
  write("images-idx3-ubyte", images_);
  EXPECT_EQ(
      open_dataset(path() / "images-idx3-ubyte", Split::kTrain)->size(),
      2);
}

TEST_F(IdxFolder, RefusesAMissingPartAndAmbiguity) {
  expect_refused(
      path(),
      Split::kTest,
      {"train-images-idx3-ubyte", "test part", "expected t10k-images"});
  write("other-train-images-idx3-ubyte", images_);
  expect_refused(path(), Split::kTrain, {"both", "expected one"});
}

TEST_F(IdxFolder, PrefersThePlainFile) {
  write("train-images-idx3-ubyte.gz", {1, 2, 3});
  EXPECT_EQ(open_dataset(path(), Split::kTrain)->size(), 2);
}

TEST_F(IdxFolder, RefusesAnotherNumberOfLabels) {
  write("train-labels-idx1-ubyte", idx_bytes({3}, {1, 2, 3}));
  try {
    (void)open_dataset(path(), Split::kTrain);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        (path() / "train-labels-idx1-ubyte").string() +
            ": found 3 labels, expected 2, as many as images");
  }
}

TEST_F(IdxFolder, RefusesDamagedFiles) {
  const auto file = path() / "train-images-idx3-ubyte";
  const auto refused = [&](const Bytes& bytes, const std::string& part) {
    write_bytes(file, bytes);
    expect_refused(file, Split::kTrain, {"not a usable IDX file", part});
  };
  for (std::size_t length = 0; length < images_.size(); ++length) {
    const Bytes cut(
        images_.begin(),
        images_.begin() + static_cast<std::ptrdiff_t>(length));
    refused(cut, "it is cut short");
  }
  Bytes longer = images_;
  longer.push_back(0);
  refused(longer, "it goes on after");
  refused(
      idx_bytes({2}, {1, 2}),
      "found 0 0 8 1 at its start, expected 0 0 8 3");
  Bytes floats = images_;
  floats[2] = 0x0D;
  refused(floats, "found 0 0 13 3");
  refused(idx_bytes({0, 2, 3}, {}), "no items");
  refused(idx_bytes({2, 0, 3}, {}), "found images of 0 x 3 px");
  refused(idx_bytes({1, 20'000, 3}, {}), "20000 x 3 px");
  // 2^60 numbers; and 2^31, which fit neither the plain file nor gzip's best.
  refused(idx_bytes({0xFFFFFFFF, 16384, 16384}, {}), "the file can hold");
  refused(idx_bytes({8, 16384, 16384}, {}), "the file can hold");
}

TEST_F(IdxFolder, RefusesDamagedGzipFiles) {
  const auto file = path() / "train-images-idx3-ubyte.gz";
  write_gzip(file, images_);
  EXPECT_EQ(open_dataset(file, Split::kTrain)->size(), 2);
  const auto whole = fs::file_size(file);
  for (auto length = whole; length-- > 0;) {
    fs::resize_file(file, length);
    expect_refused(file, Split::kTrain, {"not a usable IDX file"});
  }
  write_gzip(file, idx_bytes({8, 16384, 16384}, {}));
  expect_refused(file, Split::kTrain, {"the file can hold"});
}

}  // namespace
}  // namespace barlow::data
