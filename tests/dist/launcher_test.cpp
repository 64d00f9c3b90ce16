// SPDX-License-Identifier: MIT

#include "barlow/dist/launcher.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "support/tensors.h"

namespace barlow::dist {
namespace {

// Ranks that are shell scripts.
struct Launch {
  int code = -1;
  std::string messages;
  std::chrono::steady_clock::duration took{};
};

Launch launch(
    int ranks,
    const std::string& script,
    const std::atomic<bool>& stop = std::atomic<bool>{false}) {
  Launch result;
  const auto start = std::chrono::steady_clock::now();
  result.code = launch_local_ranks(
      {.ranks = ranks,
       .program = "/bin/sh",
       .command = {"-c", script},
       .environment = {"PATH=/bin:/usr/bin", "RANK=9"},
       .grace = std::chrono::milliseconds{500}},
      stop,
      [&](const std::string& message) { result.messages += message + "\n"; });
  result.took = std::chrono::steady_clock::now() - start;
  return result;
}

TEST(Launcher, GivesEachRankTorchrunsEnvironment) {
  const test::TemporaryFolder folder;
  const std::string out = folder.path().string();
  const Launch result = launch(
      3,
      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR "
      "$TORCHELASTIC_USE_AGENT_STORE > " +
          out + "/$RANK; [ $MASTER_PORT -gt 1000 ]");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.messages, "");
  for (int rank = 0; rank < 3; ++rank) {
    const std::string number = std::to_string(rank);
    std::ifstream stream(folder.path() / number);
    std::string line;
    std::getline(stream, line);
    std::ostringstream expected;
    expected << rank << " 3 " << rank << " 3 127.0.0.1 True";
    EXPECT_EQ(line, expected.str());
  }
}

TEST(Launcher, ReturnsTheFirstFailureAndEndsTheOthers) {
  const Launch result = launch(3, "[ $RANK = 1 ] && exit 3; exec sleep 100");
  EXPECT_EQ(result.code, 3);
  EXPECT_LT(result.took, std::chrono::seconds{20});
}

TEST(Launcher, NamesTheSignalThatEndedARank) {
  const Launch result =
      launch(2, "[ $RANK = 1 ] && kill -9 $$; exec sleep 100");
  EXPECT_EQ(result.code, 128 + 9);
  EXPECT_NE(
      result.messages.find("rank 1 of 2 was ended by signal 9 (Killed)"),
      std::string::npos)
      << result.messages;
}

TEST(Launcher, PassesStopOnAndWaitsForRanksThatSave) {
  // 75 and slow, as a rank that writes its checkpoint: longer than the grace
  // that a failure leaves.
  std::atomic<bool> stop{false};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{300});
    stop = true;
  });
  const Launch result = launch(
      2,
      "trap 'sleep $RANK; exit 75' TERM; while :; do sleep 0.05; done",
      stop);
  later.join();
  EXPECT_EQ(result.code, 75);
  EXPECT_EQ(result.messages, "");
}

TEST(Launcher, SaysWhatCannotBeStarted) {
  EXPECT_THROW(
      static_cast<void>(launch_local_ranks(
          {.ranks = 1,
           .program = "/no/such/program",
           .command = {},
           .environment = {}},
          std::atomic<bool>{false},
          [](const std::string& /*message*/) {})),
      Error);
}

}  // namespace
}  // namespace barlow::dist
