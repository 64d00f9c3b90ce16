// SPDX-License-Identifier: MIT
//
// Rendezvous over TCP, ranks as threads of this process.

#include "barlow/dist/connect.h"

#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/error.h"

namespace barlow::dist {
namespace {

using std::chrono::milliseconds;

// Ports of their own, so that tests can run side by side.
Rendezvous meeting(int rank, int world_size, std::uint16_t port) {
  Rendezvous result;
  result.rank = rank;
  result.world_size = world_size;
  result.local_rank = rank;
  result.local_size = world_size;
  result.port = port;
  return result;
}

// What each of the threads' connect threw, "" if nothing.
std::vector<std::string> connect_all(
    const std::vector<Rendezvous>& meetings,
    const std::vector<milliseconds>& timeouts) {
  std::vector<std::string> messages(meetings.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < meetings.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        const ProcessGroup group =
            connect(meetings[i], {.timeout = timeouts[i]});
        torch::Tensor one = torch::ones({1});
        group.all_reduce_sum_(one);
        EXPECT_EQ(one.item<float>(), static_cast<float>(group.size()));
        EXPECT_EQ(group.local_rank(), meetings[i].local_rank);
      } catch (const Error& error) {
        messages[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return messages;
}

std::vector<std::string> connect_all(
    const std::vector<Rendezvous>& meetings,
    milliseconds timeout) {
  return connect_all(
      meetings,
      std::vector<milliseconds>(meetings.size(), timeout));
}

TEST(Connect, JoinsRanksOverTcp) {
  const auto messages = connect_all(
      {meeting(0, 3, 18311), meeting(1, 3, 18311), meeting(2, 3, 18311)},
      milliseconds{60'000});
  EXPECT_EQ(messages, std::vector<std::string>(3));
}

TEST(Connect, NeedsNoNetworkForOneProcess) {
  Rendezvous alone;
  alone.host = "no.such.host.invalid";
  EXPECT_EQ(connect(alone).size(), 1);
}

TEST(Connect, NamesTheRanksThatDoNotCome) {
  const auto messages = connect_all(
      {meeting(0, 3, 18312), meeting(1, 3, 18312)},
      milliseconds{2000});
  EXPECT_NE(
      messages[0].find("did not join within 2 s: rank 2"),
      std::string::npos)
      << messages[0];
}

TEST(Connect, SaysThatRankZeroIsGone) {
  const auto messages = connect_all(
      {meeting(0, 3, 18316), meeting(1, 3, 18316)},
      {milliseconds{1500}, milliseconds{30'000}});
  EXPECT_NE(messages[0].find("did not join"), std::string::npos) << messages[0];
  EXPECT_NE(
      messages[1].find("rank 1 of 3: lost rank 0 (127.0.0.1:18316) while"),
      std::string::npos)
      << messages[1];
}

TEST(Connect, NamesTheAddressThatDoesNotAnswer) {
  const auto messages = connect_all({meeting(1, 2, 18313)}, milliseconds{1500});
  EXPECT_NE(
      messages[0].find("cannot reach rank 0 on 127.0.0.1:18313"),
      std::string::npos)
      << messages[0];
}

TEST(Connect, RefusesTwoProcessesOfOneRank) {
  const auto messages = connect_all(
      {meeting(0, 2, 18314), meeting(1, 2, 18314), meeting(1, 2, 18314)},
      milliseconds{3000});
  const std::string both = messages[1] + messages[2];
  EXPECT_NE(both.find("two processes claim this rank"), std::string::npos)
      << both;
}

TEST(Connect, SaysWhichHostIsUnknown) {
  Rendezvous lost = meeting(1, 2, 18315);
  lost.host = "no.such.host.invalid";
  const auto messages = connect_all({lost}, milliseconds{1000});
  EXPECT_NE(messages[0].find("no.such.host.invalid"), std::string::npos);
}

TEST(RunLocalRanks, RethrowsTheFirstException) {
  EXPECT_THROW(
      run_local_ranks(
          3,
          [](const ProcessGroup& group) {
            if (group.rank() == 1) {
              throw UsageError("rank 1's own");
            }
            torch::Tensor one = torch::ones({1});
            group.all_reduce_sum_(one);
          }),
      UsageError);
}

}  // namespace
}  // namespace barlow::dist
