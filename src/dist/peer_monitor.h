// SPDX-License-Identifier: MIT
//
// Which peer is to blame when a collective fails.

#pragma once

#include <memory>
#include <string>
#include <thread>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace barlow::dist::detail {

/// Gives signs of life in the ranks' store, and watches those of the others.
///
/// A collective tells only that a connection was closed or that time ran out;
/// its peer may be the neighbour of the lost one. This counts up a number of
/// the store every 0.4 s, from a thread that goes on while the rank waits in
/// a collective. Asked after a failure, it looks for 1.6 s whose number
/// stands still, and leaves the verdict in the store for ranks that fail later,
/// because of the first to fail.
class PeerMonitor {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::string store_host;  ///< "rank 0 (10.0.0.1:29500)", for messages
  };

  /// `store` must not be used by others.
  PeerMonitor(c10::intrusive_ptr<c10d::Store> store, Options options);
  PeerMonitor(const PeerMonitor&) = delete;
  PeerMonitor& operator=(const PeerMonitor&) = delete;
  PeerMonitor(PeerMonitor&&) = delete;
  PeerMonitor& operator=(PeerMonitor&&) = delete;
  ~PeerMonitor();

  /// Why this rank's peers may fail soon.
  void announce_failure(const std::string& reason);

  /// Who is to blame: "rank 2 has died or hangs". Takes up to 4.5 s.
  [[nodiscard]] std::string diagnose();

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace barlow::dist::detail
