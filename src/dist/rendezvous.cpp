// SPDX-License-Identifier: MIT

#include "barlow/dist/rendezvous.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "barlow/core/error.h"

namespace barlow::dist {
namespace {

// Ports for jobs without one of their own: below Linux's ephemeral range.
constexpr std::int64_t kFirstJobPort = 20000;
constexpr std::int64_t kJobPorts = 10000;

// Reads typed values, naming the launcher in complaints.
class Variables {
 public:
  Variables(const Environment& environment, std::string launcher)
      : environment_(environment), launcher_(std::move(launcher)) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& name) const {
    auto value = environment_(name);
    return value && !value->empty() ? value : std::nullopt;
  }

  [[nodiscard]] std::string required_text(const std::string& name) const {
    const auto value = text(name);
    if (!value) {
      fail<UsageError>(
          launcher_,
          "'s environment lacks ",
          name,
          "; set it, or give --rank, --world-size and --master-addr");
    }
    return *value;
  }

  [[nodiscard]] int integer(const std::string& name) const {
    const std::string value = required_text(name);
    int number = 0;
    const char* end = value.data() + value.size();
    const auto [after, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || after != end || number < 0) {
      fail<UsageError>(
          name,
          ": found '",
          value,
          "' in the environment, expected an integer of at least 0");
    }
    return number;
  }

  [[nodiscard]] int integer_or(const std::string& name, int otherwise) const {
    return text(name) ? integer(name) : otherwise;
  }

  [[nodiscard]] std::uint16_t port_or(
      const std::string& name,
      std::uint16_t otherwise) const {
    const int port = integer_or(name, otherwise);
    if (port < 1 || port > std::numeric_limits<std::uint16_t>::max()) {
      fail<UsageError>(
          name,
          ": found ",
          port,
          " in the environment, expected a port in [1, 65535]");
    }
    return static_cast<std::uint16_t>(port);
  }

 private:
  const Environment& environment_;
  std::string launcher_;
};

// The same port in all processes of a job, another in another job.
std::uint16_t port_of_job(const std::string& job) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char letter : job) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  }
  return static_cast<std::uint16_t>(kFirstJobPort + hash % kJobPorts);
}

Rendezvous from_torchrun(const Environment& environment) {
  const Variables variables(environment, "torchrun");
  Rendezvous result;
  result.launcher = "torchrun";
  result.rank = variables.integer("RANK");
  result.world_size = variables.integer("WORLD_SIZE");
  result.local_rank = variables.integer_or("LOCAL_RANK", 0);
  result.local_size = variables.integer_or("LOCAL_WORLD_SIZE", 1);
  if (result.world_size > 1) {
    result.host = variables.required_text("MASTER_ADDR");
    result.port = variables.port_or("MASTER_PORT", result.port);
  }
  result.external_store =
      variables.text("TORCHELASTIC_USE_AGENT_STORE") == "True";
  result.prefix =
      "/worker/attempt_" +
      std::to_string(variables.integer_or("TORCHELASTIC_RESTART_COUNT", 0));
  return result;
}

Rendezvous from_open_mpi(const Environment& environment) {
  const Variables variables(environment, "mpirun");
  Rendezvous result;
  result.launcher = "mpirun";
  result.rank = variables.integer("OMPI_COMM_WORLD_RANK");
  result.world_size = variables.integer("OMPI_COMM_WORLD_SIZE");
  result.local_rank = variables.integer("OMPI_COMM_WORLD_LOCAL_RANK");
  result.local_size = variables.integer("OMPI_COMM_WORLD_LOCAL_SIZE");
  const bool one_machine = result.local_size == result.world_size;
  result.host = one_machine
                    ? variables.text("MASTER_ADDR").value_or("127.0.0.1")
                    : variables.required_text("MASTER_ADDR");
  const std::string job =
      variables.text("PMIX_NAMESPACE")
          .value_or(variables.text("OMPI_MCA_orte_jobid").value_or("mpirun"));
  result.port = variables.port_or("MASTER_PORT", port_of_job(job));
  return result;
}

// "2(x3),1" names a count per node, in the order of nodes; the largest is what
// a machine must be ready for.
int tasks_on_a_node(const std::string& tasks_per_node) {
  int largest = 1;
  const char* position = tasks_per_node.data();
  const char* end = position + tasks_per_node.size();
  while (position != end) {
    int count = 0;
    const auto [after, error] = std::from_chars(position, end, count);
    if (error == std::errc()) {
      largest = std::max(largest, count);
    }
    position = std::find(after, end, ',');
    position += position != end ? 1 : 0;
  }
  return largest;
}

Rendezvous from_slurm(const Environment& environment) {
  const Variables variables(environment, "srun");
  Rendezvous result;
  result.launcher = "srun";
  result.rank = variables.integer("SLURM_PROCID");
  result.world_size = variables.integer("SLURM_STEP_NUM_TASKS");
  result.local_rank = variables.integer("SLURM_LOCALID");
  result.local_size = tasks_on_a_node(
      variables.text("SLURM_STEP_TASKS_PER_NODE").value_or("1"));
  result.local_size = std::max(result.local_size, result.local_rank + 1);
  const auto address = variables.text("MASTER_ADDR");
  if (address) {
    result.host = *address;
  } else if (result.local_size < result.world_size) {
    result.host = first_host(variables.required_text("SLURM_STEP_NODELIST"));
  }
  const std::string job = variables.text("SLURM_JOB_ID").value_or("0") + "." +
                          variables.required_text("SLURM_STEP_ID");
  result.port = variables.port_or("MASTER_PORT", port_of_job(job));
  return result;
}

}  // namespace

std::optional<Rendezvous> rendezvous_from_environment(
    const Environment& environment) {
  const auto has = [&](const char* name) {
    const auto value = environment(name);
    return value && !value->empty();
  };
  Rendezvous result;
  if (has("RANK") && has("WORLD_SIZE")) {
    result = from_torchrun(environment);
  } else if (has("OMPI_COMM_WORLD_RANK")) {
    result = from_open_mpi(environment);
  } else if (has("SLURM_STEP_ID") && has("SLURM_PROCID")) {
    result = from_slurm(environment);
  } else {
    return std::nullopt;
  }
  validate(result);
  return result.world_size > 1 ? std::optional(result) : std::nullopt;
}

void validate(const Rendezvous& r) {
  if (r.world_size < 1 || r.rank < 0 || r.rank >= r.world_size) {
    fail<UsageError>(
        r.launcher,
        ": found rank ",
        r.rank,
        " of ",
        r.world_size,
        ", expected a rank in [0, world size)");
  }
  if (r.local_size < 1 || r.local_rank < 0 || r.local_rank >= r.local_size) {
    fail<UsageError>(
        r.launcher,
        ": found local rank ",
        r.local_rank,
        " of ",
        r.local_size,
        ", expected a local rank in [0, ranks of this machine)");
  }
  if (r.host.empty()) {
    fail<UsageError>(
        r.launcher,
        ": found no address of rank 0, expected --master-addr or MASTER_ADDR");
  }
}

std::string first_host(const std::string& host_list) {
  const std::size_t bracket = host_list.find('[');
  const std::size_t comma = host_list.find(',');
  if (bracket == std::string::npos || comma < bracket) {
    return host_list.substr(0, comma);
  }
  const std::size_t close = host_list.find(']', bracket);
  if (close == std::string::npos) {
    fail<UsageError>(
        "SLURM_STEP_NODELIST: found '",
        host_list,
        "', expected a list such as node[01-04]");
  }
  const std::size_t number_end = host_list.find_first_of("-,]", bracket);
  const std::size_t tail_end = host_list.find(',', close);
  return host_list.substr(0, bracket) +
         host_list.substr(bracket + 1, number_end - bracket - 1) +
         host_list.substr(
             close + 1,
             tail_end == std::string::npos ? tail_end : tail_end - close - 1);
}

}  // namespace barlow::dist
