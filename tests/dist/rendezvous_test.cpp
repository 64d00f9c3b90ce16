// SPDX-License-Identifier: MIT

#include "barlow/dist/rendezvous.h"

#include <map>

#include <gtest/gtest.h>

#include "barlow/core/error.h"

namespace barlow::dist {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Rendezvous> recognise(const Variables& variables) {
  return rendezvous_from_environment(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt
                                        : std::optional(found->second);
      });
}

TEST(Rendezvous, IsNoneWithoutALauncher) {
  EXPECT_FALSE(recognise({}));
  EXPECT_FALSE(recognise({{"PATH", "/bin"}, {"RANK", ""}}));
}

TEST(Rendezvous, RecognisesTorchrun) {
  const auto r = recognise(
      {{"RANK", "5"},
       {"WORLD_SIZE", "8"},
       {"LOCAL_RANK", "1"},
       {"LOCAL_WORLD_SIZE", "4"},
       {"MASTER_ADDR", "10.0.0.7"},
       {"MASTER_PORT", "4000"},
       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
       {"TORCHELASTIC_RESTART_COUNT", "2"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->rank, 5);
  EXPECT_EQ(r->world_size, 8);
  EXPECT_EQ(r->local_rank, 1);
  EXPECT_EQ(r->local_size, 4);
  EXPECT_EQ(r->host, "10.0.0.7");
  EXPECT_EQ(r->port, 4000);
  EXPECT_TRUE(r->external_store);
  EXPECT_EQ(r->prefix, "/worker/attempt_2");
}

TEST(Rendezvous, OfOneProcessIsNone) {
  EXPECT_FALSE(recognise({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(recognise(
      {{"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "0"},
       {"SLURM_STEP_NUM_TASKS", "1"},
       {"SLURM_LOCALID", "0"}}));
}

TEST(Rendezvous, RecognisesOpenMpiOnOneMachine) {
  Variables variables{
      {"OMPI_COMM_WORLD_RANK", "1"},
      {"OMPI_COMM_WORLD_SIZE", "2"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"PMIX_NAMESPACE", "123"}};
  const auto r = recognise(variables);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->rank, 1);
  EXPECT_EQ(r->local_size, 2);
  EXPECT_EQ(r->host, "127.0.0.1");
  EXPECT_FALSE(r->external_store);
  // Another job, another port; the same job, the same.
  EXPECT_EQ(recognise(variables)->port, r->port);
  variables["PMIX_NAMESPACE"] = "124";
  EXPECT_NE(recognise(variables)->port, r->port);
}

TEST(Rendezvous, NeedsAnAddressFromOpenMpiOverMachines) {
  Variables variables{
      {"OMPI_COMM_WORLD_RANK", "1"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_THROW(static_cast<void>(recognise(variables)), UsageError);
  variables["MASTER_ADDR"] = "node1";
  variables["MASTER_PORT"] = "5000";
  EXPECT_EQ(recognise(variables)->host, "node1");
  EXPECT_EQ(recognise(variables)->port, 5000);
}

TEST(Rendezvous, RecognisesSrunOverNodes) {
  const auto r = recognise(
      {{"SLURM_JOB_ID", "77"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "3"},
       {"SLURM_STEP_NUM_TASKS", "5"},
       {"SLURM_LOCALID", "1"},
       {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
       {"SLURM_STEP_NODELIST", "gpu[07-09]"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->rank, 3);
  EXPECT_EQ(r->world_size, 5);
  EXPECT_EQ(r->local_rank, 1);
  EXPECT_EQ(r->local_size, 2);
  EXPECT_EQ(r->host, "gpu07");
}

TEST(Rendezvous, IgnoresSlurmOutsideOfAStep) {
  // A batch script has these, and no step of its own.
  EXPECT_FALSE(recognise({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));
}

TEST(Rendezvous, NamesTheVariableThatIsWrong) {
  const auto message_of = [](const Variables& variables) -> std::string {
    try {
      static_cast<void>(recognise(variables));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(
      message_of({{"RANK", "one"}, {"WORLD_SIZE", "2"}}).find("RANK"),
      std::string::npos);
  EXPECT_NE(
      message_of({{"RANK", "1"}, {"WORLD_SIZE", "2"}}).find("MASTER_ADDR"),
      std::string::npos);
  EXPECT_NE(
      message_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}})
          .find("rank 2 of 2"),
      std::string::npos);
  EXPECT_NE(
      message_of({{"RANK", "1"},
                  {"WORLD_SIZE", "2"},
                  {"MASTER_ADDR", "a"},
                  {"MASTER_PORT", "99999"}})
          .find("MASTER_PORT"),
      std::string::npos);
}

TEST(FirstHost, ReadsSlurmsShortForm) {
  EXPECT_EQ(first_host("node"), "node");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[01-04,9],other"), "node01");
  EXPECT_EQ(first_host("a,node[1-4]"), "a");
  EXPECT_EQ(first_host("rack[3]-x,b"), "rack3-x");
  EXPECT_THROW(static_cast<void>(first_host("node[1-4")), UsageError);
}

}  // namespace
}  // namespace barlow::dist
