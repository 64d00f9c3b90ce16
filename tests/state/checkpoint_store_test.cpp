// SPDX-License-Identifier: MIT

#include "barlow/state/checkpoint_store.h"

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "state/files.h"
#include "support/tensors.h"

namespace barlow::state {
namespace {

namespace fs = std::filesystem;

TensorFile content(std::int64_t step) {
  return {
      .tensors = {{"x", torch::full({1000}, static_cast<double>(step))}},
      .metadata = {{"recipe", "none"}}};
}

std::vector<std::string> names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string name(std::int64_t step) {
  const std::string digits = std::to_string(step);
  return "step-" + std::string(9 - digits.size(), '0') + digits +
         ".safetensors";
}

void cut(const fs::path& path) {
  fs::resize_file(path, fs::file_size(path) / 2);
}

void expect_loads(const CheckpointStore& store, std::int64_t step) {
  const auto loaded = store.load_latest();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->step, step);
  EXPECT_TRUE(
      loaded->file.tensors.at("x").equal(content(step).tensors.at("x")));
  EXPECT_EQ(loaded->file.metadata.at("recipe"), "none");
}

class CheckpointStoreTest : public testing::Test {
 protected:
  CheckpointStoreTest() : path_(folder_.path() / "run" / "checkpoints") {}

  void expect_golden(const char* golden) const;

  test::TemporaryFolder folder_;
  fs::path path_;
};

TEST_F(CheckpointStoreTest, CreatesItsFolderAndStartsEmpty) {
  EXPECT_TRUE(list_checkpoints(path_).empty());
  const CheckpointStore store(path_, 2);
  EXPECT_TRUE(fs::is_directory(path_));
  EXPECT_FALSE(store.load_latest().has_value());
}

TEST_F(CheckpointStoreTest, KeepsTheLastFew) {
  const CheckpointStore store(path_, 3);
  for (const std::int64_t step : {5, 10, 99, 1000, 1001}) {
    EXPECT_EQ(store.save(step, content(step)), path_ / name(step));
    expect_loads(store, step);
    EXPECT_TRUE(store.load_latest()->warnings.empty());
  }
  const std::vector<std::string> expected{name(99), name(1000), name(1001)};
  EXPECT_EQ(names(path_), expected);
}

TEST_F(CheckpointStoreTest, KeepingOneKeepsTheNewest) {
  const CheckpointStore store(path_, 1);
  store.save(1, content(1));
  store.save(2, content(2));
  EXPECT_EQ(names(path_), std::vector<std::string>{name(2)});
  expect_loads(store, 2);
}

TEST_F(CheckpointStoreTest, OrdersBeyondNineDigitsByNumber) {
  const CheckpointStore store(path_, 2);
  store.save(999'999'999, content(3));
  store.save(1'000'000'000, content(4));
  EXPECT_EQ(store.load_latest()->step, 1'000'000'000);
  EXPECT_EQ(list_checkpoints(path_).front().filename(), name(999'999'999));
}

TEST_F(CheckpointStoreTest, FallsBackFromADamagedNewestWithAWarning) {
  const CheckpointStore store(path_, 3);
  for (const std::int64_t step : {1, 2, 3}) {
    store.save(step, content(step));
  }
  cut(path_ / name(3));
  expect_loads(store, 2);
  const std::vector<std::string> warnings = store.load_latest()->warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(name(3)), std::string::npos) << warnings[0];

  cut(path_ / name(2));
  expect_loads(store, 1);
  EXPECT_EQ(store.load_latest()->warnings.size(), 2U);
}

TEST_F(CheckpointStoreTest, FallsBackFromOneFlippedBit) {
  const CheckpointStore store(path_, 3);
  store.save(1, content(1));
  store.save(2, content(2));
  std::string bytes = test::read_bytes(path_ / name(2));
  bytes[bytes.size() - 1001] ^= 0x10;  // among the tensor's
  test::write_bytes(path_ / name(2), bytes);
  expect_loads(store, 1);
  const std::vector<std::string> warnings = store.load_latest()->warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find(name(2)), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("checksum"), std::string::npos) << warnings[0];
}

TEST_F(CheckpointStoreTest, FallsBackFromOneUnderAnotherStepsName) {
  const CheckpointStore store(path_, 3);
  store.save(1, content(1));
  store.save(2, content(2));
  fs::rename(path_ / name(2), path_ / name(500));
  expect_loads(store, 1);
  const std::string warning = store.load_latest()->warnings.at(0);
  EXPECT_NE(warning.find("found step 2"), std::string::npos) << warning;
  EXPECT_NE(warning.find("expected 500"), std::string::npos) << warning;
}

TEST_F(CheckpointStoreTest, DamagedLaterOnesDoNotPushOutWholeOnes) {
  const CheckpointStore store(path_, 2);
  store.save(10, content(10));
  store.save(20, content(20));
  cut(path_ / name(20));
  store.save(15, content(15));  // the run went on from 10
  const std::vector<std::string> expected{name(10), name(15), name(20)};
  EXPECT_EQ(names(path_), expected);
  expect_loads(store, 15);
  store.save(20, content(20));
  expect_loads(store, 20);
  EXPECT_TRUE(store.load_latest()->warnings.empty());
}

TEST_F(CheckpointStoreTest, OnlyDamagedOnesAreAnErrorNotAFreshStart) {
  const CheckpointStore store(path_, 2);
  store.save(1, content(1));
  store.save(2, content(2));
  cut(path_ / name(1));
  cut(path_ / name(2));
  try {
    static_cast<void>(store.load_latest());
    FAIL() << "started anew over damaged checkpoints";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(name(1)), std::string::npos) << text;
    EXPECT_NE(text.find(name(2)), std::string::npos) << text;
  }
}

TEST_F(CheckpointStoreTest, FileOfAnotherKindCountsAsDamaged) {
  const CheckpointStore store(path_, 2);
  store.save(1, content(1));
  write_safetensors(path_ / name(2), content(2));  // no format in it
  expect_loads(store, 1);
  TensorFile odd = content(3);
  odd.metadata["format"] = "barlow-checkpoint";
  odd.metadata["format_version"] = "one";
  write_safetensors(path_ / name(3), odd);
  expect_loads(store, 1);
  EXPECT_EQ(store.load_latest()->warnings.size(), 2U);
}

TEST_F(CheckpointStoreTest, RefusesANewerFormatInsteadOfFallingBack) {
  const CheckpointStore store(path_, 2);
  store.save(1, content(1));
  TensorFile newer = content(2);
  newer.metadata["format"] = "barlow-checkpoint";
  newer.metadata["format_version"] = "2";
  write_safetensors(path_ / name(2), newer);
  try {
    static_cast<void>(store.load_latest());
    FAIL() << "read a format that this version does not know";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find(name(2)), std::string::npos) << text;
    EXPECT_NE(text.find("found format_version 2"), std::string::npos) << text;
    EXPECT_NE(text.find("expected at most 1"), std::string::npos) << text;
  }
}

TEST_F(CheckpointStoreTest, OpeningRemovesLeftoversAndNothingElse) {
  fs::create_directories(path_);
  test::write_bytes(path_ / "step-000000007.safetensors.tmp", "half");
  test::write_bytes(path_ / "notes.tmp", "mine");
  test::write_bytes(path_ / "step-best.safetensors", "mine");
  const CheckpointStore store(path_, 1);
  const std::vector<std::string> kept{"notes.tmp", "step-best.safetensors"};
  EXPECT_EQ(names(path_), kept);
  store.save(1, content(1));
  store.save(2, content(2));
  const std::vector<std::string> after{kept[0], name(2), kept[1]};
  EXPECT_EQ(names(path_), after);
}

TEST_F(CheckpointStoreTest, AKilledWriterLeavesAWholeNewest) {
  bool saved = false;  // on a busy machine not in the first rounds
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const CheckpointStore store(path_, 2);
      const auto loaded = store.load_latest();
      for (std::int64_t step = loaded ? loaded->step + 1 : 0;; ++step) {
        store.save(step, content(step));
      }
    }
    usleep(static_cast<useconds_t>(20'000 + 3'700 * round));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);

    const CheckpointStore store(path_, 2);
    const auto loaded = store.load_latest();
    ASSERT_TRUE(loaded.has_value() || !saved);
    saved = loaded.has_value();
    if (loaded) {
      EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings[0];
      expect_loads(store, loaded->step);
      EXPECT_LE(names(path_).size(), 3U);  // killed between save and removal
    }
  }
  EXPECT_TRUE(saved);
}

TEST_F(CheckpointStoreTest, AFailedSaveRemovesNothing) {
  const CheckpointStore store(path_, 1);
  store.save(1, content(1));
  fs::create_directory(path_ / (name(2) + ".tmp"));  // in the writer's way
  EXPECT_THROW(store.save(2, content(2)), Error);
  expect_loads(store, 1);
}

TEST_F(CheckpointStoreTest, RefusesImpossibleArguments) {
  EXPECT_THROW(CheckpointStore(path_, 0), c10::ValueError);
  const CheckpointStore store(path_, 1);
  EXPECT_THROW(store.save(-1, content(1)), c10::ValueError);
  test::write_bytes(folder_.path() / "file", "x");
  EXPECT_THROW(CheckpointStore(folder_.path() / "file", 1), Error);
}

void CheckpointStoreTest::expect_golden(const char* golden) const {
  fs::create_directories(path_);
  fs::copy_file(
      fs::path(BARLOW_SOURCE_DIR) / "tests/state/golden" / golden,
      path_ / name(42),
      fs::copy_options::overwrite_existing);
  const auto loaded = CheckpointStore(path_, 1).load_latest();
  ASSERT_TRUE(loaded.has_value());
  EXPECT_EQ(loaded->step, 42);
  const NamedTensors& tensors = loaded->file.tensors;
  EXPECT_TRUE(tensors.at("model.weight")
                  .equal(torch::arange(6, torch::kFloat32).view({2, 3}) / 4));
  EXPECT_EQ(tensors.at("optimizer.step").item<std::int64_t>(), 42);
  EXPECT_EQ(loaded->file.metadata.at("recipe"), "epochs = 1\n");
}

// Without a checksum, as up to 0.1.0, and with one.
TEST_F(CheckpointStoreTest, ReadsFormatVersion1) {
  for (const char* golden :
       {"checkpoint_v1.safetensors", "checkpoint_v1_crc32.safetensors"}) {
    expect_golden(golden);
  }
}

}  // namespace
}  // namespace barlow::state
