// SPDX-License-Identifier: MIT

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/data/encode.h"
#include "data/dataset_support.h"
#include "data/synthetic_dataset.h"
#include "support/tensors.h"

namespace barlow::data {
namespace {

using Strings = std::vector<std::string>;

class ImageFolders : public testing::Test {
 protected:
  /// A PNG of one grey pixel, in folders made as needed.
  void add(const std::string& name, std::uint8_t level = 0) const {
    fs::create_directories((path() / name).parent_path());
    Image image(1, 1, 1);
    image.pixels = {level};
    write_png(path() / name, image);
  }

  void add_all(const Strings& names) const {
    for (const std::string& name : names) {
      add(name);
    }
  }

  /// "path label", relative to the root, in the data set's order.
  [[nodiscard]] Strings contents(Split split = Split::kTrain) const {
    const auto dataset = open_dataset(path(), split);
    Strings result;
    for (std::int64_t i = 0; i < dataset->size(); ++i) {
      const std::string file = dataset->describe(i);
      result.push_back(
          fs::path(file).lexically_relative(path()).generic_string() + " " +
          std::to_string(dataset->label(i)));
    }
    return result;
  }

  [[nodiscard]] Strings classes(Split split = Split::kTrain) const {
    return open_dataset(path(), split)->class_names();
  }

  [[nodiscard]] const fs::path& path() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(ImageFolders, FlatHasNoLabelsAndTheOrderOfBytes) {
  add_all({"b.png", "B.png", "a10.png", "a9.png", "\xC3\xA4.png", "_.png"});
  EXPECT_EQ(
      contents(),
      (Strings{
          "B.png -1",
          "_.png -1",
          "a10.png -1",
          "a9.png -1",
          "b.png -1",
          "\xC3\xA4.png -1"}));
  EXPECT_TRUE(classes().empty());
}

TEST_F(ImageFolders, TopFoldersWithImagesAreClassesInOrderOfNames) {
  add_all(
      {"dog/2.png", "dog/1.png", "cat-big/3.png", "cat/9.png", "cat/x/0.png"});
  // As paths, "cat-big/3.png" would come before "cat/9.png".
  EXPECT_EQ(
      contents(),
      (Strings{
          "cat/9.png 0",
          "cat/x/0.png 0",
          "cat-big/3.png 1",
          "dog/1.png 2",
          "dog/2.png 2"}));
  EXPECT_EQ(classes(), (Strings{"cat", "cat-big", "dog"}));
}

TEST_F(ImageFolders, FoldersWithoutImagesAreNoClasses) {
  add_all({"cat/1.png", "dog/1.png"});
  write_bytes(path() / "notes/readme.txt", {1});
  fs::create_directories(path() / "empty");
  EXPECT_EQ(classes(), (Strings{"cat", "dog"}));
}

TEST_F(ImageFolders, NestedDeeperOrMixedOrAloneHasNoLabels) {
  add_all({"2020/may/1.png", "2020/june/2.png", "2021/3.png"});
  EXPECT_EQ(
      contents(),
      (Strings{"2020/june/2.png -1", "2020/may/1.png -1", "2021/3.png -1"}));
  add_all({"2020/0.png"});
  EXPECT_EQ(classes().size(), 2U);
  add_all({"top.png"});
  EXPECT_TRUE(classes().empty());
  EXPECT_EQ(contents().size(), 5U);
}

TEST_F(ImageFolders, OneFolderIsNotAClass) {
  add_all({"images/1.png", "images/2.png"});
  EXPECT_EQ(contents(), (Strings{"images/1.png -1", "images/2.png -1"}));
}

TEST_F(ImageFolders, PartsHaveTheirOwnImages) {
  add_all({"train/cat/1.png", "train/dog/2.png", "val/cat/3.png"});
  add_all({"val/dog/4.png", "test/unknown.png", "extra/5.png"});
  EXPECT_EQ(contents(), (Strings{"train/cat/1.png 0", "train/dog/2.png 1"}));
  EXPECT_EQ(
      contents(Split::kTest),
      (Strings{"val/cat/3.png 0", "val/dog/4.png 1"}));
  EXPECT_EQ(classes(), classes(Split::kTest));
  fs::remove_all(path() / "val");
  EXPECT_EQ(contents(Split::kTest), (Strings{"test/unknown.png -1"}));
}

TEST_F(ImageFolders, AClassMayBeCalledTrain) {
  add_all({"bus/1.png", "car/1.png", "train/1.png"});
  EXPECT_EQ(classes(), (Strings{"bus", "car", "train"}));
  expect_refused(path(), Split::kTest, {"no test part", "train and val"});
}

TEST_F(ImageFolders, ASinglePartIsAPart) {
  add_all({"train/1.png"});
  write_bytes(path() / "labels/notes.txt", {1});
  EXPECT_EQ(contents(), (Strings{"train/1.png -1"}));
  expect_refused(path(), Split::kTest, {"train but no val"});
  fs::rename(path() / "train", path() / "test");
  EXPECT_EQ(contents(Split::kTest), (Strings{"test/1.png -1"}));
  expect_refused(path(), Split::kTrain, {"no train"});
}

TEST_F(ImageFolders, AnEmptyPartIsRefused) {
  add_all({"val/1.png"});
  fs::create_directories(path() / "train/cat");
  try {
    (void)open_dataset(path(), Split::kTrain);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(
        std::string(error.what()),
        (path() / "train").string() +
            ": found no images, expected .jpg, .jpeg, .png, .webp or .bmp "
            "files");
  }
}

TEST_F(ImageFolders, TakesAnyCaseOfTheEndingsAndSkipsTheRest) {
  for (const std::string name :
       {"1.JPG",
        "2.Jpeg",
        "3.png",
        "4.WebP",
        "5.bmp",
        "6.gif",
        "png",
        "7.",
        "8.png.txt",
        ".hidden.png",
        "9.pngx"}) {
    write_bytes(path() / name, {1});
  }
  add_all({".cache/10.png"});
  EXPECT_EQ(
      contents(),
      (Strings{"1.JPG -1", "2.Jpeg -1", "3.png -1", "4.WebP -1", "5.bmp -1"}));
}

TEST_F(ImageFolders, FollowsLinksButNotInCircles) {
  const test::TemporaryFolder elsewhere;
  add_all({"cat/1.png", "real/2.png"});
  fs::copy_file(path() / "cat/1.png", elsewhere.path() / "far.png");
  fs::create_directory_symlink(elsewhere.path(), path() / "dog");
  fs::create_symlink(path() / "real/2.png", path() / "cat/linked.png");
  fs::create_directory_symlink(path(), path() / "cat/circle");
  fs::create_directory_symlink(path() / "cat", path() / "cat/self");
  fs::create_directory_symlink(path() / "dog", elsewhere.path() / "again");
  EXPECT_EQ(
      contents(),
      (Strings{
          "cat/1.png 0",
          "cat/linked.png 0",
          "dog/far.png 1",
          "real/2.png 2"}));
  fs::create_symlink("nowhere.png", path() / "cat/dangling.png");
  expect_refused(path(), Split::kTrain, {"dangling.png", "link to nothing"});
}

TEST_F(ImageFolders, LoadsPixelsAndNamesTheFileThatItCannot) {
  add("a/1.png", 77);
  write_bytes(path() / "b/2.png", {});
  write_bytes(path() / "b/3.jpg", {0xFF, 0xD8, 0xFF, 0xE0});
  const auto dataset = open_dataset(path(), Split::kTrain);
  ASSERT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->load(0).pixels, Bytes{77});
  EXPECT_THROW((void)dataset->load(3), std::out_of_range);
  EXPECT_THROW((void)dataset->label(-1), std::out_of_range);
  fs::remove(path() / "a/1.png");
  for (const std::int64_t i : {0, 1, 2}) {
    try {
      (void)dataset->load(i);
      ADD_FAILURE() << i;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(dataset->describe(i) + ": "), 0U)
          << error.what();
    }
  }
}

TEST_F(ImageFolders, PartsOfDifferentClassesAreNoPair) {
  add_all({"train/cat/1.png", "train/dog/2.png", "val/cat/3.png"});
  const auto refusal = [&] {
    const auto train = open_dataset(path(), Split::kTrain);
    const auto test = open_dataset(path(), Split::kTest);
    return test::error_of([&] { require_same_classes(*train, *test, "DATA"); })
        .value_or("not refused");
  };
  EXPECT_EQ(
      refusal(),
      "DATA: found no labels in the test part, expected two or more class "
      "folders, or a labelled set");
  add("val/emu/4.png");
  EXPECT_EQ(
      refusal(),
      "DATA: the training part has 2 classes, the test part 2, with emu that "
      "is not in training; expected the same in both");
  add_all({"train/emu/5.png", "train/fox/6.png", "val/dog/7.png"});
  EXPECT_EQ(
      refusal(),
      "DATA: the training part has 4 classes, the test part 3, which lacks "
      "fox; expected the same in both");
  add("val/fox/8.png");
  EXPECT_EQ(refusal(), "not refused");
}

TEST(RequireSameClasses, NamesATestImageOfAClassWithoutTrainingImages) {
  const test::SyntheticDataset train({.size = 2});
  const test::SyntheticDataset test({.size = 3});
  EXPECT_EQ(
      test::error_of([&] { require_same_classes(train, test, "DATA"); }),
      "synthetic image 2: found class two, of which the training part has no "
      "image");
}

TEST_F(ImageFolders, SaysWhatWasFoundInstead) {
  expect_refused(
      path(),
      Split::kTrain,
      {"found an empty folder, expected IDX"});
  expect_refused(path() / "missing", Split::kTrain, {"found nothing"});
  write_bytes(path() / "deep/movie.mp4", {1});
  write_bytes(path() / "picture.gif", {1});
  write_bytes(path() / "README", {1});
  expect_refused(
      path(),
      Split::kTest,
      {"1 folders and 2 files (.gif, no ending)", "none of them images"});
  expect_refused(path() / "picture.gif", Split::kTrain, {"unknown kind"});
}

}  // namespace
}  // namespace barlow::data
