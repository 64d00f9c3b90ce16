// SPDX-License-Identifier: MIT
//
// What the others say when a rank is lost.

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/dist/connect.h"

namespace barlow::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Outcome {
  std::vector<std::string> messages;  // of each rank; "" if it succeeded
  milliseconds took{};
};

// `lost` does what `leave` says; the others all-reduce without it.
Outcome lose_rank(
    int ranks,
    int lost,
    milliseconds timeout,
    const std::function<void(const ProcessGroup&)>& leave) {
  Outcome outcome;
  outcome.messages.resize(static_cast<std::size_t>(ranks));
  const auto start = std::chrono::steady_clock::now();
  run_local_ranks(
      ranks,
      [&](const ProcessGroup& group) {
        if (group.rank() == lost) {
          leave(group);
          return;
        }
        try {
          torch::Tensor one = torch::ones({1000});
          group.all_reduce_sum_(one);
        } catch (const Error& error) {
          outcome.messages[static_cast<std::size_t>(group.rank())] =
              error.what();
        }
      },
      timeout);
  outcome.took = std::chrono::duration_cast<milliseconds>(
      std::chrono::steady_clock::now() - start);
  return outcome;
}

TEST(LostPeer, ThatLeavesIsNamedByAllOthers) {
  const Outcome outcome =
      lose_rank(4, 2, seconds{120}, [](const ProcessGroup& /*group*/) {});
  for (const std::size_t rank : {0U, 1U, 3U}) {
    const std::string& message = outcome.messages[rank];
    EXPECT_NE(message.find("rank 2 has died or hangs"), std::string::npos)
        << message;
    EXPECT_EQ(
        message.find("rank " + std::to_string(rank) + " of 4: all-reduce of "),
        0U)
        << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  // Long before the time-out: a closed connection says it at once.
  EXPECT_LT(outcome.took, seconds{60});
}

TEST(LostPeer, ThatFailedIsQuoted) {
  const Outcome outcome =
      lose_rank(3, 1, seconds{120}, [](const ProcessGroup& group) {
        group.announce_failure("photos/7.jpg: cannot be read");
      });
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_NE(
        outcome.messages[rank].find(
            "rank 1 failed: photos/7.jpg: cannot be read"),
        std::string::npos)
        << outcome.messages[rank];
  }
}

TEST(LostPeer, ThatIsOnlySlowIsNotAccused) {
  const Outcome outcome =
      lose_rank(2, 1, milliseconds{1500}, [](const ProcessGroup& /*group*/) {
        std::this_thread::sleep_for(seconds{9});
      });
  EXPECT_NE(outcome.messages[0].find("all ranks are alive"), std::string::npos)
      << outcome.messages[0];
}

}  // namespace
}  // namespace barlow::dist
