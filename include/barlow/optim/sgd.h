// SPDX-License-Identifier: MIT
//
// Stochastic gradient descent with momentum.

#pragma once

#include <cstddef>
#include <vector>

#include <torch/types.h>

#include "barlow/optim/optimizer.h"

namespace barlow::optim {

struct SgdOptions {
  double weight_decay = 0.0;            ///< wd, >= 0, added to the gradient
  double momentum = 0.9;                ///< m, in [0, 1)
  bool nesterov = false;                ///< needs momentum > 0
  bool decay_biases_and_norms = false;  ///< wd acts on 1-d parameters too
};

/// Equal to torch.optim.SGD with dampening 0:
///
///     dp       = g + wd p
///     momentum <- m momentum + dp
///     p        <- p - rate momentum          (dp + m momentum with Nesterov)
///
/// State: "momentum.<name>", none if m = 0.
class Sgd final : public Optimizer {
 public:
  /// Throws c10::ValueError if an option is out of range.
  explicit Sgd(const ParameterGroups& parameters, const SgdOptions& = {});

 private:
  void update(std::size_t, const torch::Tensor& gradient, double rate) override;
  void update_flat(const std::vector<FlatParameter>&) override;

  [[nodiscard]] double decay_of(std::size_t index) const;

  SgdOptions options_;
};

}  // namespace barlow::optim
