// SPDX-License-Identifier: MIT

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "data/dataset_support.h"
#include "support/tensors.h"

namespace barlow::data {
namespace {

/// Records with these labels; sample p of channel c of image i is
/// i + 100 c + p / 32 (its row).
Bytes records(const std::vector<Bytes>& labels) {
  Bytes bytes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    bytes.insert(bytes.end(), labels[i].begin(), labels[i].end());
    for (std::size_t k = 0; k < 3072; ++k) {
      const std::size_t level = i + 100 * (k / 1024) + k % 1024 / 32;
      bytes.push_back(static_cast<std::uint8_t>(level));
    }
  }
  return bytes;
}

class CifarFolder : public testing::Test {
 protected:
  void write(const std::string& name, const Bytes& bytes) const {
    write_bytes(path() / name, bytes);
  }

  void write_cifar10() const {
    for (std::uint8_t i = 1; i <= 5; ++i) {
      // The first file has two records, the others one.
      const std::vector<Bytes> labels =
          i == 1 ? std::vector<Bytes>{{9}, {1}} : std::vector<Bytes>{{i}};
      write("data_batch_" + std::to_string(i) + ".bin", records(labels));
    }
    write("test_batch.bin", records({{3}}));
  }

  void write_lines(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name) << text;
  }

  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(CifarFolder, GivesInterleavedPixelsOfTheFiveBatches) {
  write_cifar10();
  write_lines(
      "batches.meta.txt",
      "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\r\n"
      "truck\n\n");
  const auto train = open_dataset(path(), Split::kTrain);
  ASSERT_EQ(train->size(), 6);
  const Image image = train->load(1);
  EXPECT_EQ(image.width, 32);
  EXPECT_EQ(image.height, 32);
  ASSERT_EQ(image.channels, 3);
  for (const int y : {0, 17, 31}) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(
          image.row(y)[3 * 5 + c],
          1 + 100 * c + static_cast<std::size_t>(y));
    }
  }
  EXPECT_EQ(train->label(0), 9);
  EXPECT_EQ(train->label(5), 5);
  EXPECT_EQ(train->class_names().at(8), "ship");
  EXPECT_EQ(
      train->describe(3),
      (path() / "data_batch_3.bin").string() + ", item 0");
  const auto test = open_dataset(path(), Split::kTest);
  EXPECT_EQ(test->size(), 1);
  EXPECT_EQ(test->label(0), 3);
}

TEST_F(CifarFolder, TakesTheFineLabelsOfCifar100) {
  write("train.bin", records({{7, 99}, {3, 0}}));
  const auto train = open_dataset(path(), Split::kTrain);
  ASSERT_EQ(train->size(), 2);
  EXPECT_EQ(train->label(0), 99);
  EXPECT_EQ(train->load(1).pixels.at(2), 201);
  EXPECT_EQ(train->class_names().size(), 100U);
  EXPECT_EQ(train->class_names().back(), "99");
  expect_refused(path(), Split::kTest, {"without test.bin", "test part"});
}

TEST_F(CifarFolder, RefusesMissingAndDamagedFiles) {
  write_cifar10();
  fs::remove(path() / "data_batch_4.bin");
  expect_refused(path(), Split::kTrain, {"CIFAR-10", "data_batch_4.bin"});
  EXPECT_EQ(open_dataset(path(), Split::kTest)->size(), 1);

  Bytes bytes = records({{3}});
  bytes.pop_back();
  write("test_batch.bin", bytes);
  expect_refused(path(), Split::kTest, {"found 3072 bytes", "3073"});
  write("test_batch.bin", {});
  expect_refused(path(), Split::kTest, {"found 0 bytes"});
  write("test_batch.bin", records({{3}, {10}}));
  expect_refused(path(), Split::kTest, {"item 1", "label 10", "below 10"});
  write("test_batch.bin", records({{3}}));
  write_lines("batches.meta.txt", "cat\ndog\n");
  expect_refused(path(), Split::kTest, {"found 2 class names, expected 10"});
}

TEST_F(CifarFolder, NamesThePythonVersion) {
  write("data_batch_1", {1});
  write("test_batch", {1});
  expect_refused(path(), Split::kTrain, {"Python version", "binary version"});
}

}  // namespace
}  // namespace barlow::data
