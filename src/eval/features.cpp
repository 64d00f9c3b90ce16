// SPDX-License-Identifier: MIT

#include "barlow/eval/features.h"

#include <string>

#include "barlow/core/error.h"
#include "barlow/eval/frozen_module.h"

namespace barlow::eval {
namespace {

// The first row that `bad` [N] marks, or -1.
std::int64_t first_row(const torch::Tensor& bad) {
  const torch::Tensor rows = bad.nonzero();
  return rows.size(0) == 0 ? -1 : rows[0][0].item<std::int64_t>();
}

void check_encoded(
    const torch::Tensor& encoded,
    std::int64_t rows,
    const torch::Tensor& earlier) {
  TORCH_CHECK_VALUE(
      encoded.dim() == 2 && encoded.size(0) == rows &&
          encoded.is_floating_point(),
      "extract_features: expected the encoder to return floating-point [",
      rows,
      ", F], got ",
      encoded.scalar_type(),
      " ",
      encoded.sizes());
  TORCH_CHECK_VALUE(
      !earlier.defined() || earlier.size(1) == encoded.size(1),
      "extract_features: the encoder returned ",
      encoded.size(1),
      " features, and ",
      earlier.defined() ? earlier.size(1) : 0,
      " before");
}

}  // namespace

Features extract_features(
    const Encoder& encoder,
    const BatchSource& source,
    std::int64_t size) {
  TORCH_CHECK_VALUE(
      size >= 1,
      "extract_features: size must be >= 1, got ",
      size);
  torch::NoGradGuard no_grad;
  Features result{{}, torch::empty({size}, torch::kInt64)};
  std::int64_t done = 0;
  while (const std::optional<data::LabelledBatch> batch = source()) {
    const std::int64_t rows = batch->images.size(0);
    if (done + rows > size) {
      fail("extract_features: more images than the ", size, " announced");
    }
    const torch::Tensor encoded = encoder(batch->images);
    check_encoded(encoded, rows, result.features);
    if (!result.features.defined()) {
      result.features = torch::empty({size, encoded.size(1)}, torch::kFloat32);
    }
    result.features.narrow(0, done, rows).copy_(encoded);
    result.labels.narrow(0, done, rows).copy_(batch->labels);
    done += rows;
  }
  if (done != size) {
    fail("extract_features: ", done, " images instead of ", size);
  }
  return result;
}

Features extract_frozen_features(
    torch::nn::Module& module,
    const Encoder& encoder,
    const BatchSource& source,
    std::int64_t size) {
  const FrozenModule frozen(module);
  Features features = extract_features(encoder, source, size);
  frozen.check_unchanged();
  return features;
}

void check_features(const char* what, const Features& features) {
  const torch::Tensor& x = features.features;
  const torch::Tensor& labels = features.labels;
  TORCH_CHECK_VALUE(
      x.defined() && x.dim() == 2 && x.scalar_type() == torch::kFloat32 &&
          x.device().is_cpu() && x.is_contiguous() && x.numel() >= 1,
      what,
      ": features must be a contiguous float32 [N, F] on the CPU");
  TORCH_CHECK_VALUE(
      labels.defined() && labels.dim() == 1 &&
          labels.scalar_type() == torch::kInt64 && labels.device().is_cpu() &&
          labels.size(0) == x.size(0),
      what,
      ": labels must be an int64 [",
      x.size(0),
      "] on the CPU");
  // The sum of a row is finite if all of it is, but for overflow, which no
  // features worth having come near; it needs no copy of them.
  const std::int64_t row = first_row(x.sum(1).isfinite().logical_not());
  if (row >= 0) {
    fail(
        what,
        ": the features of image ",
        row,
        " hold NaN or infinity, expected finite numbers (did the training of "
        "the encoder diverge?)");
  }
  const std::int64_t unlabelled = first_row(labels.lt(0));
  if (unlabelled >= 0) {
    fail(what, ": image ", unlabelled, " has no label, expected one for each");
  }
}

std::int64_t
check_classes(const char* what, const Features& train, const Features& test) {
  const auto lowest = train.labels.min().item<std::int64_t>();
  const auto highest = train.labels.max().item<std::int64_t>();
  if (lowest == highest) {
    fail<UsageError>(
        what,
        ": all training images have the label ",
        lowest,
        ", expected at least two classes");
  }
  const std::int64_t beyond = first_row(test.labels.gt(highest));
  if (beyond >= 0) {
    fail<UsageError>(
        what,
        ": test image ",
        beyond,
        " has the label ",
        test.labels[beyond].item<std::int64_t>(),
        ", expected at most ",
        highest,
        ", the largest of the training images");
  }
  return highest + 1;
}

}  // namespace barlow::eval
