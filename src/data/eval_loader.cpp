// SPDX-License-Identifier: MIT

#include "barlow/data/eval_loader.h"

#include <algorithm>

#include "barlow/data/decode.h"
#include "data/image_block.h"
#include "data/loading_options.h"
#include "data/ordered_pipeline.h"

namespace barlow::data {
namespace {

EvalLoaderOptions checked(const EvalLoaderOptions& o) {
  constexpr const char* kSide = "a number in [1, 16384]";
  const auto is_side = [](int px) {
    return px >= 1 && px <= 16384;
  };
  detail::check_loading_options(o);
  detail::require(o.batch_size >= 1, "batch_size", o.batch_size, "at least 1");
  detail::require(is_side(o.resize_px), "resize_px", o.resize_px, kSide);
  detail::require(is_side(o.crop_px), "crop_px", o.crop_px, kSide);
  return o;
}

/// A batch in the making.
struct OpenBatch {
  detail::ImageBlock images;
  torch::Tensor labels;
  std::int64_t first;  // image of row 0
};

class EvalMaker final : public detail::BatchMaker<OpenBatch> {
 public:
  EvalMaker(const Dataset& dataset, const EvalLoaderOptions& options)
      : dataset_(dataset), options_(options) {}

  std::optional<OpenBatch> open() override {
    const std::int64_t count =
        std::min(options_.batch_size, dataset_.size() - opened_);
    if (count == 0) {
      return std::nullopt;
    }
    const std::int64_t first = opened_;
    opened_ += count;
    torch::Tensor labels = torch::empty({count}, torch::kInt64);
    auto* label = labels.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < count; ++i) {
      label[i] = dataset_.label(first + i);
    }
    return OpenBatch{
        .images =
            {{.images = count,
              .channels = options_.channels,
              .side = options_.crop_px},
             options_.memory_format},
        .labels = labels,
        .first = first};
  }

  [[nodiscard]] std::int64_t items(const OpenBatch& batch) const override {
    return batch.labels.numel();
  }

  void fill(OpenBatch& batch, std::int64_t item) const override {
    const Image image =
        to_channels(dataset_.load(batch.first + item), options_.channels);
    batch.images.store(
        item,
        evaluation_view(image, options_.resize_px, options_.crop_px),
        options_.normalization);
  }

 private:
  const Dataset& dataset_;
  const EvalLoaderOptions options_;
  std::int64_t opened_ = 0;  // images in the batches opened so far
};

detail::PipelineOptions pipeline_options(const EvalLoaderOptions& o) {
  const std::int64_t side = o.crop_px;
  return {
      .workers = o.workers,
      .window = o.queue_batches,
      .chunk = detail::items_per_chunk(
          o.batch_size,
          o.channels * side * side,
          o.workers)};
}

}  // namespace

class EvalLoader::Impl {
 public:
  Impl(const Dataset& dataset, const EvalLoaderOptions& options)
      : size_(dataset.size()),
        options_(checked(options)),
        pipeline_(
            std::make_unique<EvalMaker>(dataset, options_),
            pipeline_options(options_)) {}

  std::optional<LabelledBatch> next() {
    const std::optional<OpenBatch> batch = pipeline_.next();
    if (!batch) {
      return std::nullopt;
    }
    return LabelledBatch{
        .images = batch->images.tensor(),
        .labels = batch->labels};
  }

  [[nodiscard]] std::int64_t size() const { return size_; }

 private:
  const std::int64_t size_;
  const EvalLoaderOptions options_;
  detail::OrderedPipeline<OpenBatch> pipeline_;
};

EvalLoader::EvalLoader(const Dataset& dataset, const EvalLoaderOptions& options)
    : impl_(std::make_unique<Impl>(dataset, options)) {}

EvalLoader::~EvalLoader() = default;

std::optional<LabelledBatch> EvalLoader::next() {
  return impl_->next();
}

std::int64_t EvalLoader::size() const {
  return impl_->size();
}

}  // namespace barlow::data
