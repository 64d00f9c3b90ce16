// SPDX-License-Identifier: MIT
//
// A linear classifier on frozen features.
//
// The protocol, in which nothing is left to tune by hand:
//
//   1. Features are standardised by the training set's mean and deviation. A
//      feature that is constant there is dropped.
//   2. The model is multinomial logistic regression; the objective
//
//          J(W, b) = mean cross-entropy + penalty / 2 |W|^2
//
//      is convex, so its minimum is a property of the features, not of a
//      learning rate, a batch size or an initialisation. b is not penalised.
//   3. The penalty is the one of a grid whose fit on nine tenths of the
//      training images is best on the other tenth (drawn from the seed); of
//      equally good ones the larger. Test images are never looked at for it.
//   4. The model is fitted again, with that penalty, on all training images.
//
// The published protocol for ImageNet instead runs SGD for 100 epochs on
// augmented crops: numbers differ from it, mostly by the missing augmentation.

#pragma once

#include <cstdint>
#include <vector>

#include <torch/types.h>

#include "barlow/eval/accuracy.h"
#include "barlow/eval/features.h"

namespace barlow::eval {

struct LinearProbeOptions {
  /// The grid, each > 0, tried from the largest down. With one, there is no
  /// held-out part.
  std::vector<double> penalties{1e-1, 1e-2, 1e-3, 1e-4, 1e-5};
  double held_out_fraction = 0.1;     ///< in (0, 1)
  std::uint64_t seed = 0;             ///< draws the held-out images
  std::int64_t max_iterations = 500;  ///< of each fit, >= 1
  /// A fit ends where |grad J| <= this (ten times this while choosing the
  /// penalty), > 0. J is then within tolerance^2 / (2 penalty) of its minimum.
  double gradient_tolerance = 1e-4;
};

/// One penalty of the grid.
struct PenaltyTrial {
  double penalty = 0.0;
  double held_out_top1 = 0.0;
  std::int64_t iterations = 0;
};

struct LinearProbeResult {
  Accuracy test;
  double train_top1 = 0.0;
  double penalty = 0.0;              ///< the chosen one
  std::vector<PenaltyTrial> trials;  ///< empty if there was no choice
  std::int64_t iterations = 0;       ///< of the last fit
  double objective = 0.0;            ///< J at the end
  double gradient_norm = 0.0;        ///< |grad J| at the end
  /// The gradient tolerance was reached. If not, the fit stopped at
  /// max_iterations or at the limit of float32, whichever came first.
  bool converged = false;

  /// The classifier on features as they were given, not standardised:
  /// scores = features weight^T + bias.
  torch::Tensor weight;  ///< [C, F] float32
  torch::Tensor bias;    ///< [C] float32
};

/// Fits on `train`, reports on `test`. C = largest training label + 1 classes.
///
/// Precision. Products are float32, all sums over images and all of the
/// optimiser's arithmetic float64.
///
/// Cost. L-BFGS, preconditioned by the bound of Boehning (1992) on the Hessian:
/// N F^2 FLOP once and F^3 for each penalty (not above F = 4096, where none is
/// used), then about 4 N F C a step; 20 to 150 steps for each penalty. Memory:
/// a copy of the training features. With the default grid 50000 x 784 x 10
/// takes 50 s of one core, 50000 x 128 x 10 takes 6 s. On cores that other
/// programs use too, one thread is several times faster than two: the many
/// short operations wait for the slower one.
///
/// Deterministic on one machine for one number of threads.
///
/// Errors. c10::ValueError if an option is out of range or F differs; and as
/// `check_features` and `check_classes`.
[[nodiscard]] LinearProbeResult linear_probe(
    const Features& train,
    const Features& test,
    const LinearProbeOptions& options = {});

}  // namespace barlow::eval
