// SPDX-License-Identifier: MIT

#include "barlow/dist/connect.h"

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "dist/c10d_backend.h"
#include "dist/local_address.h"

namespace barlow::dist {
namespace {

using detail::Membership;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

enum class StoreRole { kServer, kClient };

std::string store_host(const Rendezvous& rendezvous) {
  const std::string place =
      rendezvous.host + ":" + std::to_string(rendezvous.port);
  return rendezvous.external_store
             ? "the store of " + rendezvous.launcher + " (" + place + ")"
             : "rank 0 (" + place + ")";
}

template <class... Parts>
[[noreturn]] void fail_rank(
    const Rendezvous& rendezvous,
    const Parts&... parts) {
  fail("rank ", rendezvous.rank, " of ", rendezvous.world_size, ": ", parts...);
}

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

double seconds(std::chrono::milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

StorePointer open_store(
    const Rendezvous& rendezvous,
    std::chrono::milliseconds timeout,
    StoreRole role) {
  c10d::TCPStoreOptions options;
  options.port = rendezvous.port;
  options.isServer = role == StoreRole::kServer;
  options.waitWorkers = false;
  options.timeout = timeout;
  try {
    return c10::make_intrusive<c10d::PrefixStore>(
        "barlow" + rendezvous.prefix,
        c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options));
  } catch (const std::exception& error) {
    fail_rank(
        rendezvous,
        role == StoreRole::kServer ? "cannot listen on "
                                   : "cannot reach rank 0 on ",
        rendezvous.host,
        ":",
        rendezvous.port,
        " within ",
        seconds(timeout),
        role == StoreRole::kServer
            ? " s; is the port in use, the address this machine's? ("
            : " s; does it run, is the port open from here? (",
        first_line(error),
        ")");
  }
}

std::string joined_key(int rank) {
  return "joined/" + std::to_string(rank);
}

// The ranks that are not there, by number.
std::string absent_ranks(c10d::Store& store, int world_size) {
  std::vector<std::string> absent;
  for (int rank = 0; rank < world_size; ++rank) {
    if (!store.check({joined_key(rank)})) {
      absent.push_back(std::to_string(rank));
    }
  }
  return join(absent);
}

// Whether all ranks came in time; throws when the store goes first.
bool all_come(
    c10d::Store& store,
    int world_size,
    std::chrono::milliseconds timeout) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < world_size; ++rank) {
    keys.push_back(joined_key(rank));
  }
  try {
    store.wait(keys, timeout);
    return true;
  } catch (const std::exception&) {
    return absent_ranks(store, world_size).empty();
  }
}

// Until all ranks are there: only then does a failure mean a lost peer.
void wait_for_all(
    const Rendezvous& rendezvous,
    c10d::Store& store,
    std::chrono::milliseconds timeout) {
  const std::string place =
      rendezvous.host + ":" + std::to_string(rendezvous.port);
  std::string absent;
  try {
    if (store.add(joined_key(rendezvous.rank), 1) > 1) {
      fail_rank(
          rendezvous,
          "two processes claim this rank at ",
          place,
          "; each needs a rank of its own, and each run a port of its own");
    }
    if (all_come(store, rendezvous.world_size, timeout)) {
      return;
    }
    absent = absent_ranks(store, rendezvous.world_size);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail_rank(
        rendezvous,
        "lost ",
        store_host(rendezvous),
        " while waiting for all ranks; its own message says why (",
        first_line(error),
        ")");
  }
  fail_rank(
      rendezvous,
      "did not join within ",
      seconds(timeout),
      " s: rank ",
      absent,
      "; were all ranks started, with this address and world size?");
}

class FirstException {
 public:
  void keep_current() {
    const std::lock_guard lock(mutex_);
    if (!exception_) {
      exception_ = std::current_exception();
    }
  }

  void rethrow() const {
    if (exception_) {
      std::rethrow_exception(exception_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr exception_;
};

}  // namespace

ProcessGroup connect(
    const Rendezvous& rendezvous,
    const ConnectOptions& options) {
  validate(rendezvous);
  if (rendezvous.world_size == 1) {
    return {};
  }
  const std::string address =
      detail::local_address_towards(rendezvous.host, rendezvous.port);
  const bool serves = rendezvous.rank == 0 && !rendezvous.external_store;
  Membership membership{
      .rank = rendezvous.rank,
      .size = rendezvous.world_size,
      .local_rank = rendezvous.local_rank,
      .store = open_store(
          rendezvous,
          options.timeout,
          serves ? StoreRole::kServer : StoreRole::kClient),
      .monitor_store =
          open_store(rendezvous, options.timeout, StoreRole::kClient),
      .store_host = store_host(rendezvous),
      .timeout = options.timeout};
  wait_for_all(rendezvous, *membership.store, options.timeout);
  try {
    return ProcessGroup(
        options.device.is_cuda() && detail::has_nccl()
            ? detail::make_nccl_backend(membership, options.device)
            : detail::make_gloo_backend(
                  membership,
                  address,
                  options.interface));
  } catch (const std::exception& error) {
    fail_rank(
        rendezvous,
        "no connection to the other ranks from ",
        options.interface.empty() ? address : options.interface,
        ": ",
        first_line(error));
  }
}

void run_local_ranks(
    int ranks,
    const std::function<void(const ProcessGroup&)>& body,
    std::chrono::milliseconds timeout) {
  TORCH_CHECK_VALUE(
      ranks >= 1,
      "run_local_ranks: ranks must be at least 1, got ",
      ranks);
  if (ranks == 1) {
    body({});
    return;
  }
  const auto store = c10::make_intrusive<c10d::HashStore>();
  store->setTimeout(timeout);
  FirstException first;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      // As many threads as ranks are enough; more only wait for each other.
      at::set_num_threads(1);
      ProcessGroup group;
      try {
        group = ProcessGroup(detail::make_gloo_backend(
            {.rank = rank,
             .size = ranks,
             .local_rank = rank,
             .store = store,
             .monitor_store = store,
             .store_host = "this process",
             .timeout = timeout},
            "127.0.0.1",
            /*interface=*/""));
        body(group);
      } catch (const std::exception& error) {
        first.keep_current();
        group.announce_failure(error.what());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  first.rethrow();
}

}  // namespace barlow::dist
