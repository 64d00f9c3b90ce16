// SPDX-License-Identifier: MIT
//
// What all optimisers share: parameters, gradients, state by name.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <torch/types.h>

#include "barlow/core/named_tensors.h"
#include "barlow/optim/parameters.h"
#include "barlow/optim/schedule.h"

namespace barlow::optim {

struct FlatParameter;

/// Updates parameters from their gradients.
///
/// State lies on its parameter's device, in its type, and starts at zero. A
/// parameter without a gradient is skipped: neither it nor its state changes.
/// NaN and infinity are not searched for; they propagate to the parameter.
/// Deterministic on CPU, whatever the number of threads; no operation waits for
/// a GPU to finish.
///
/// Float32 parameters on the CPU are updated all together, in one or two passes
/// over memory; others one by one, with operations of LibTorch. Both are equal
/// to rounding. A gradient whose order in memory is not its parameter's is
/// copied.
/// Thread-compatible: one thread at a time.
class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = delete;
  Optimizer& operator=(Optimizer&&) = delete;
  virtual ~Optimizer() = default;

  /// One update with the given rates. Throws c10::ValueError if a rate is
  /// negative or not finite.
  void step(const LearningRates& rates);

  /// Drops the gradients: until the next backward pass there are none.
  void zero_grad();

  /// All state, "momentum.<parameter's name>" and the like. The tensors share
  /// memory with the optimiser: the next step changes them.
  [[nodiscard]] const NamedTensors& state() const { return state_; }

  /// Copies `state` in, from any device. Throws Error, naming the tensor, if
  /// one is missing, unknown, or of another shape or type; nothing is changed
  /// then.
  void load_state(const NamedTensors& state);

 protected:
  enum class ParameterKind { kWeight, kBiasOrNorm };

  struct Entry {
    NamedParameter parameter;
    ParameterKind kind = ParameterKind::kWeight;
    std::vector<torch::Tensor> state;  // one for each call of add_state
  };

  explicit Optimizer(const ParameterGroups& parameters);

  /// Zeros like each parameter, known to state() as "<prefix>.<name>". At most
  /// two calls.
  void add_state(const std::string& prefix);

  /// An int64 zero for each parameter, on the CPU, named likewise.
  std::vector<torch::Tensor> add_counters(const std::string& prefix);

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  /// Updates one parameter, under no-grad. `gradient` is defined.
  virtual void update(
      std::size_t index,
      const torch::Tensor& gradient,
      double learning_rate) = 0;

  /// Updates all those that are arrays in memory. May be none.
  virtual void update_flat(const std::vector<FlatParameter>& parameters) = 0;

 private:
  std::vector<Entry> entries_;  // weights, then biases
  NamedTensors state_;
};

}  // namespace barlow::optim
