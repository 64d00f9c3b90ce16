// SPDX-License-Identifier: MIT
//
// What a frozen encoder makes of a labelled set of images.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <torch/types.h>

#include "barlow/data/eval_loader.h"

namespace torch::nn {
class Module;
}

namespace barlow::eval {

/// N images, F numbers each. Row i of both is one image.
///
///     features   [N, F]  float32, CPU, contiguous
///     labels     [N]     int64, CPU, >= 0
struct Features {
  torch::Tensor features;
  torch::Tensor labels;
};

/// Maps images [n, C, S, S] to features [n, F], floating point, on any device.
/// Moving the images to a device and autocasting are its own business. Pixels
/// as features: `[](const torch::Tensor& x) { return x.flatten(1); }`.
using Encoder = std::function<torch::Tensor(const torch::Tensor&)>;

/// Gives one batch a call, then nothing.
using BatchSource = std::function<std::optional<data::LabelledBatch>()>;

/// Encodes all of a source, without building a graph.
///
/// `size` is the number of images that the source will give (EvalLoader::size).
/// Memory: 4 N F bytes and a batch. Throws Error if the source gives another
/// number of images, and c10::ValueError if the encoder's result is not [n, F]
/// with one F throughout. NaN is kept; those who use the features refuse it.
[[nodiscard]] Features extract_features(
    const Encoder& encoder,
    const BatchSource& source,
    std::int64_t size);

/// The same with `module`, which `encoder` is assumed to call, in evaluation
/// mode. Throws Error, naming the tensor, if a parameter or buffer changed on
/// the way. The mode of each submodule is as before afterwards, also after an
/// exception.
[[nodiscard]] Features extract_frozen_features(
    torch::nn::Module& module,
    const Encoder& encoder,
    const BatchSource& source,
    std::int64_t size);

/// Throws Error, starting with `what`, if the features hold NaN or infinity or
/// a label is negative, naming the first such row; c10::ValueError if the
/// shapes, types or devices are not those of `Features`, or N or F is 0.
void check_features(const char* what, const Features& features);

/// What a classifier needs of checked features: throws UsageError, starting
/// with `what`, if all training images have one label, or a test image has a
/// label above all of theirs, naming the first such row.
/// Returns the number of classes, the largest training label + 1.
std::int64_t
check_classes(const char* what, const Features& train, const Features& test);

}  // namespace barlow::eval
