// SPDX-License-Identifier: MIT

#include "barlow/data/loader.h"

#include <optional>
#include <stdexcept>
#include <utility>

#include "barlow/core/error.h"
#include "barlow/core/random.h"
#include "barlow/data/decode.h"
#include "data/image_block.h"
#include "data/loading_options.h"
#include "data/ordered_pipeline.h"

namespace barlow::data {
namespace {

TwoViewLoaderOptions checked(const TwoViewLoaderOptions& options) {
  detail::check_loading_options(options);
  validate(options.view_a, "view_a");
  validate(options.view_b, "view_b");
  detail::require(
      options.world_size >= 1,
      "world_size",
      options.world_size,
      "at least 1");
  detail::require(
      options.rank >= 0 && options.rank < options.world_size,
      "rank",
      options.rank,
      "a number in [0, world_size)");
  return options;
}

EpochSampler make_sampler(
    const Dataset& dataset,
    const TwoViewLoaderOptions& options) {
  return {
      dataset.size(),
      options.global_batch_size,
      options.seed,
      options.on_partial_batch};
}

/// A batch in the making.
struct OpenBatch {
  detail::ImageBlock view_a;
  detail::ImageBlock view_b;
  std::vector<std::int64_t> images;
  std::int64_t global_size;
  std::int64_t epoch;
  std::int64_t step;
};

class TwoViewMaker final : public detail::BatchMaker<OpenBatch> {
 public:
  TwoViewMaker(
      const Dataset& dataset,
      const TwoViewLoaderOptions& options,
      std::int64_t first_step)
      : dataset_(dataset),
        options_(options),
        sampler_(make_sampler(dataset, options)),
        step_(first_step) {}

  std::optional<OpenBatch> open() override {
    const std::int64_t epoch = step_ / sampler_.steps_per_epoch();
    const std::vector<std::int64_t> batch =
        sampler_.batch(epoch, step_ % sampler_.steps_per_epoch());
    const Slice slice = rank_slice(
        static_cast<std::int64_t>(batch.size()),
        options_.rank,
        options_.world_size);
    return OpenBatch{
        .view_a = block(slice.size(), options_.view_a),
        .view_b = block(slice.size(), options_.view_b),
        .images = {batch.begin() + slice.begin, batch.begin() + slice.end},
        .global_size = static_cast<std::int64_t>(batch.size()),
        .epoch = epoch,
        .step = step_++};
  }

  [[nodiscard]] std::int64_t items(const OpenBatch& batch) const override {
    return static_cast<std::int64_t>(batch.images.size());
  }

  void fill(OpenBatch& batch, std::int64_t item) const override {
    StreamKey key{
        .seed = options_.seed,
        .purpose = StreamPurpose::kAugmentation,
        .epoch = static_cast<std::uint64_t>(batch.epoch),
        .image = static_cast<std::uint64_t>(
            batch.images[static_cast<std::size_t>(item)])};
    const Image image = to_channels(
        dataset_.load(static_cast<std::int64_t>(key.image)),
        options_.channels);
    key.view = 0;
    batch.view_a.store(
        item,
        random_view(image, options_.view_a, key),
        options_.normalization);
    key.view = 1;
    batch.view_b.store(
        item,
        random_view(image, options_.view_b, key),
        options_.normalization);
  }

 private:
  [[nodiscard]] detail::ImageBlock block(
      std::int64_t images,
      const ViewOptions& view) const {
    return {
        {.images = images, .channels = options_.channels, .side = view.size},
        options_.memory_format};
  }

  static Image random_view(
      const Image& image,
      const ViewOptions& view,
      const StreamKey& key) {
    RandomStream stream(key);
    return augment(
        image,
        view,
        draw_view(view, image.width, image.height, stream));
  }

  const Dataset& dataset_;
  const TwoViewLoaderOptions options_;
  EpochSampler sampler_;  // as step_, only in open(), one thread at a time
  std::int64_t step_;
};

}  // namespace

class TwoViewLoader::Impl {
 public:
  Impl(const Dataset& dataset, const TwoViewLoaderOptions& options)
      : dataset_(dataset),
        options_(checked(options)),
        steps_per_epoch_(make_sampler(dataset, options).steps_per_epoch()) {}

  void start(std::int64_t global_step) {
    if (global_step < 0) {
      fail<std::invalid_argument>("TwoViewLoader: no step ", global_step);
    }
    pipeline_.reset();  // before the new one: its batches' memory
    pipeline_.emplace(
        std::make_unique<TwoViewMaker>(dataset_, options_, global_step),
        pipeline_options());
  }

  TwoViewBatch next() {
    if (!pipeline_) {
      throw std::logic_error("TwoViewLoader: next() before start()");
    }
    OpenBatch batch = *pipeline_->next();  // endless: there always is one
    return {
        .view_a = batch.view_a.tensor(),
        .view_b = batch.view_b.tensor(),
        .images = std::move(batch.images),
        .global_size = batch.global_size,
        .epoch = batch.epoch,
        .step = batch.step};
  }

  [[nodiscard]] double seconds_waiting() const {
    return pipeline_ ? pipeline_->seconds_waiting() : 0.0;
  }

  [[nodiscard]] std::int64_t steps_per_epoch() const {
    return steps_per_epoch_;
  }

 private:
  [[nodiscard]] detail::PipelineOptions pipeline_options() const {
    const std::int64_t side_a = options_.view_a.size;
    const std::int64_t side_b = options_.view_b.size;
    return {
        .workers = options_.workers,
        .window = options_.queue_batches,
        .chunk = detail::items_per_chunk(
            options_.global_batch_size / options_.world_size,
            options_.channels * (side_a * side_a + side_b * side_b),
            options_.workers)};
  }

  const Dataset& dataset_;
  const TwoViewLoaderOptions options_;
  const std::int64_t steps_per_epoch_;
  std::optional<detail::OrderedPipeline<OpenBatch>> pipeline_;
};

TwoViewLoader::TwoViewLoader(
    const Dataset& dataset,
    const TwoViewLoaderOptions& options)
    : impl_(std::make_unique<Impl>(dataset, options)) {}

TwoViewLoader::~TwoViewLoader() = default;

void TwoViewLoader::start(std::int64_t global_step) {
  impl_->start(global_step);
}

TwoViewBatch TwoViewLoader::next() {
  return impl_->next();
}

double TwoViewLoader::seconds_waiting() const {
  return impl_->seconds_waiting();
}

std::int64_t TwoViewLoader::steps_per_epoch() const {
  return impl_->steps_per_epoch();
}

}  // namespace barlow::data
