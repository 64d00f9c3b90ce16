// SPDX-License-Identifier: MIT

#include "barlow/state/atomic_file.h"

#include <csignal>
#include <cstdlib>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "state/files.h"
#include "support/tensors.h"

namespace barlow::state {
namespace {

// A folder with a file "name" that holds "old".
class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() : path_(folder_.path() / "name") {
    test::write_bytes(path_, "old");
  }

  void expect_only(const std::string& content) const {
    EXPECT_EQ(test::read_bytes(path_), content);
    EXPECT_FALSE(std::filesystem::exists(path_.string() + ".tmp"));
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

TEST_F(AtomicFileTest, ReplacesTheOldFileAtCommit) {
  AtomicFile file(path_);
  file.write("new", 3);
  file.write("er", 2);
  EXPECT_EQ(test::read_bytes(path_), "old");
  file.commit();
  expect_only("newer");
}

TEST_F(AtomicFileTest, LeavesTheOldFileWithoutCommit) {
  {
    AtomicFile file(path_);
    file.write("new", 3);
  }
  expect_only("old");
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenTheDiskIsFull) {
  std::filesystem::create_symlink("/dev/full", path_.string() + ".tmp");
  {
    AtomicFile file(path_);
    try {
      file.write("new", 3);
      FAIL() << "/dev/full took bytes";
    } catch (const Error& error) {
      EXPECT_NE(
          std::string(error.what()).find("cannot write: No space left"),
          std::string::npos)
          << error.what();
    }
  }
  expect_only("old");
}

// The limit cuts a write in two: the first part succeeds, the rest fails.
TEST_F(AtomicFileTest, LeavesTheOldFileWhenAWriteFailsHalfway) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  EXPECT_THROW(write_text_atomically(path_, std::string(5000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  expect_only("old");
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenTheWriterIsKilled) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(path_);
    file.write("new", 3);
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(test::read_bytes(path_), "old");
  write_text_atomically(path_, "newer");  // over what the child left
  expect_only("newer");
}

TEST_F(AtomicFileTest, NamesThePathAndTheReason) {
  const std::filesystem::path path = folder_.path() / "none" / "file";
  try {
    const AtomicFile file(path);
    FAIL() << "created in a folder that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        path.string() + ".tmp: cannot create: No such file or directory");
  }
  std::filesystem::create_directory(folder_.path() / "sub");
  EXPECT_THROW(write_text_atomically(folder_.path() / "sub", "x"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "sub.tmp"));
}

TEST_F(AtomicFileTest, WritesToTheCurrentFolderByABareName) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  write_text_atomically("name", "new");
  std::filesystem::current_path(before);
  expect_only("new");
}

TEST(SetAside, NeverTakesANameThatIsThere) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "recipe.toml";
  for (const std::string text : {"first", "second"}) {
    test::write_bytes(path, text);
    const std::filesystem::path aside = set_aside(path);
    EXPECT_EQ(test::read_bytes(aside), text);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(test::read_bytes(folder.path() / "recipe.toml.old-1"), "first");
  EXPECT_THROW(static_cast<void>(set_aside(path)), Error);
}

}  // namespace
}  // namespace barlow::state
