// SPDX-License-Identifier: MIT
//
// Adam with decoupled weight decay.
//
// I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", ICLR 2019,
// https://arxiv.org/abs/1711.05101.

#pragma once

#include <cstddef>
#include <vector>

#include <torch/types.h>

#include "barlow/optim/optimizer.h"

namespace barlow::optim {

struct AdamWOptions {
  double weight_decay = 1e-2;           ///< wd, >= 0
  double beta1 = 0.9;                   ///< in [0, 1)
  double beta2 = 0.999;                 ///< in [0, 1)
  double epsilon = 1e-8;                ///< > 0
  bool decay_biases_and_norms = false;  ///< wd acts on 1-d parameters too
};

/// Equal to torch.optim.AdamW. At a parameter's t-th gradient, t = 1, 2, ...:
///
///     p  <- (1 - rate wd) p
///     m1 <- beta1 m1 + (1 - beta1) g
///     m2 <- beta2 m2 + (1 - beta2) g^2
///     p  <- p - rate / (1 - beta1^t) m1 / (sqrt(m2 / (1 - beta2^t)) + epsilon)
///
/// State: "first_moment.<name>", "second_moment.<name>", and t as "step.<name>"
/// (int64, one number, on the CPU).
class AdamW final : public Optimizer {
 public:
  /// Throws c10::ValueError if an option is out of range.
  explicit AdamW(const ParameterGroups& parameters, const AdamWOptions& = {});

 private:
  void update(std::size_t, const torch::Tensor& gradient, double rate) override;
  void update_flat(const std::vector<FlatParameter>&) override;

  // What a parameter's t-th step multiplies with.
  struct Scales {
    double keep = 1;        // 1 - rate wd
    double root_bias2 = 1;  // sqrt(1 - beta2^t)
    double rate = 0;        // rate / (1 - beta1^t)
  };

  /// Increments t.
  Scales count_step(std::size_t index, double rate);

  AdamWOptions options_;
  std::vector<torch::Tensor> steps_;
};

}  // namespace barlow::optim
