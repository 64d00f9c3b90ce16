// SPDX-License-Identifier: MIT
//
// Layer-wise adaptive rate scaling.
//
// Y. You, I. Gitman, B. Ginsburg, "Large Batch Training of Convolutional
// Networks", 2017, https://arxiv.org/abs/1708.03888.

#pragma once

#include <cstddef>
#include <vector>

#include <torch/types.h>

#include "barlow/optim/optimizer.h"

namespace barlow::optim {

/// How the trust ratio q is formed. |x| is the Euclidean norm of the whole
/// tensor, eta the trust coefficient, wd the weight decay.
enum class TrustRatio {
  /// As in the authors' code. Decay first, then the ratio of what results:
  ///
  ///     u  = g + wd p
  ///     q  = eta |p| / |u|          1 where |p| = 0 or |u| = 0
  ///     dp = q u
  kPlain,

  /// As published CIFAR recipes use it (with eta = 0.02). The gradient's norm
  /// is taken before decay, and the ratio, relative to the learning rate, never
  /// exceeds 1, so that a step is never longer than that of SGD:
  ///
  ///     q  = min(eta |p| / (|g| + wd |p| + 1e-8) / rate, 1)
  ///     dp = q (g + wd p)           g where |p| = 0 or |g| = 0
  ///
  /// At rate = 0, q = 1.
  kClipped,
};

struct LarsOptions {
  double weight_decay = 1e-6;       ///< wd, >= 0; the authors' value
  double momentum = 0.9;            ///< m, in [0, 1)
  double trust_coefficient = 1e-3;  ///< eta, > 0; the authors' value
  TrustRatio trust_ratio = TrustRatio::kPlain;
  bool decay_biases_and_norms = false;  ///< wd acts on 1-d parameters too
  bool adapt_biases_and_norms = false;  ///< q acts on 1-d parameters too
};

/// For each parameter p with gradient g, dp as above (wd = 0 or q = 1 where the
/// options exclude it):
///
///     momentum <- m momentum + dp
///     p        <- p - rate momentum
///
/// State: "momentum.<name>".
///
/// Tensor::norm is not used: LibTorch 1.13's float32 norm is up to 6 % wrong
/// for a tensor of 8192 x 8192 on the CPU. Here a squared norm is within 1e-6.
/// Cost on the CPU in float32: 28 bytes of memory traffic a number, 8 to read
/// p and g for both norms and 20 for the update, where 16 MiB of third-level
/// cache save much of the 8 for all but the largest parameters; no temporaries.
/// Elsewhere about eight passes, and temporaries of a parameter's size.
class Lars final : public Optimizer {
 public:
  /// Throws c10::ValueError if an option is out of range.
  explicit Lars(const ParameterGroups& parameters, const LarsOptions& = {});

 private:
  void update(std::size_t, const torch::Tensor& gradient, double rate) override;
  void update_flat(const std::vector<FlatParameter>&) override;

  [[nodiscard]] bool adapts(std::size_t index) const;
  [[nodiscard]] double decay_of(std::size_t index) const;

  LarsOptions options_;
};

}  // namespace barlow::optim
