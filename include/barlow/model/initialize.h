// SPDX-License-Identifier: MIT
//
// Initial parameters as a function of a seed.

#pragma once

#include <cstdint>

#include <torch/nn/module.h>

namespace barlow::model {

/// Draws the parameters of a module and of all below it anew, and resets the
/// batch norms' running statistics.
///
///     Convolution   normal, mean 0, variance 2 / (out_channels k^2): He et al.
///                   2015 with fan-out, as torchvision's ResNets
///     Linear        uniform in +-1 / sqrt(in_features), weight and bias, as
///                   torch.nn.Linear
///     BatchNorm     scale `initial_weight`, shift 0; running mean 0,
///                   running variance 1, no batches
///
/// A parameter's values depend on (seed, its index in module.parameters(), its
/// shape) alone: on neither device, type, thread count nor memory format, and
/// not on LibTorch's generators. A backbone of its own therefore begins with
/// the same values as the backbone of twins, whose first parameters are the
/// backbone's.
///
/// Values are drawn in float64 and rounded to float32, then to the parameter's
/// type. Cost: about 15 ns for a uniform and 60 ns for a normal value, shared
/// by LibTorch's threads (ResNet-50 1.4 s, 8192-8192-8192 2 s on one), and a
/// float32 copy of the largest parameter.
/// Throws c10::ValueError if a parameter belongs to another kind of module.
void initialize_parameters(torch::nn::Module& module, std::uint64_t seed);

}  // namespace barlow::model
