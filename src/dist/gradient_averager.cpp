// SPDX-License-Identifier: MIT

#include "barlow/dist/gradient_averager.h"

#include <cstddef>
#include <limits>
#include <utility>

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace barlow::dist {
namespace {

// Consecutive parameters that travel as one message.
struct Bucket {
  std::size_t first = 0;  // in Impl's order
  std::size_t count = 0;
  torch::Tensor message{};  // all gradients, one after the other, then one
                            // number a parameter: how many ranks have it
  std::size_t missing = 0;
  PendingCollective pending{};
};

}  // namespace

class GradientAverager::Impl {
 public:
  Impl(
      const std::vector<torch::Tensor>& parameters,
      ProcessGroup group,
      const GradientAveragerOptions& options)
      : parameters_(parameters.rbegin(), parameters.rend()),
        filled_(parameters.size()),
        bucket_of_(parameters.size()),
        group_(std::move(group)),
        exchange_(options.exchange) {
    const std::int64_t limit = exchange_ == GradientExchange::kAfterBackward
                                   ? std::numeric_limits<std::int64_t>::max()
                                   : options.bucket_bytes;
    make_buckets(limit);
  }

  // Called once this is owned by a shared_ptr: the hooks outlive it otherwise.
  static void add_hooks(const std::shared_ptr<Impl>& self);

  void begin() {
    for (Bucket& bucket : buckets_) {
      bucket.missing = bucket.count;
    }
    filled_.assign(parameters_.size(), false);
    next_ = 0;
    active_ = true;
  }

  void gradient_is_complete(std::size_t index) {
    if (!active_ || filled_[index] ||
        exchange_ == GradientExchange::kAfterBackward) {
      return;
    }
    fill(index);
    send_full_buckets();
  }

  void finish() {
    TORCH_CHECK(active_, "GradientAverager: finish without begin");
    active_ = false;
    for (std::size_t index = 0; index < parameters_.size(); ++index) {
      if (!filled_[index]) {
        fill(index);
      }
    }
    send_full_buckets();
    for (Bucket& bucket : buckets_) {
      bucket.pending.wait();
      unpack(bucket);
    }
  }

 private:
  void make_buckets(std::int64_t limit_bytes) {
    std::int64_t bytes = 0;
    for (std::size_t index = 0; index < parameters_.size(); ++index) {
      const torch::Tensor& parameter = parameters_[index];
      TORCH_CHECK_VALUE(
          parameter.scalar_type() == parameters_[0].scalar_type() &&
              parameter.device() == parameters_[0].device(),
          "GradientAverager: parameters must be of one dtype and device");
      const auto size = static_cast<std::int64_t>(parameter.nbytes());
      if (buckets_.empty() || bytes + size > limit_bytes) {
        buckets_.push_back({.first = index});
        bytes = 0;
      }
      bytes += size;
      ++buckets_.back().count;
      bucket_of_[index] = buckets_.size() - 1;
    }
    for (Bucket& bucket : buckets_) {
      auto length = static_cast<std::int64_t>(bucket.count);
      for (std::size_t i = 0; i < bucket.count; ++i) {
        length += parameters_[bucket.first + i].numel();
      }
      bucket.message = torch::empty({length}, parameters_[0].options());
    }
  }

  // The part of a bucket's message that is the gradient of one parameter, in
  // the parameter's shape and strides, so that copying is one pass.
  torch::Tensor slot(std::size_t index) {
    const Bucket& bucket = buckets_[bucket_of_[index]];
    std::int64_t offset = 0;
    for (std::size_t before = bucket.first; before < index; ++before) {
      offset += parameters_[before].numel();
    }
    const torch::Tensor& parameter = parameters_[index];
    return parameter.is_non_overlapping_and_dense()
               ? bucket.message.as_strided(
                     parameter.sizes(),
                     parameter.strides(),
                     offset)
               : bucket.message.narrow(0, offset, parameter.numel())
                     .view(parameter.sizes());
  }

  torch::Tensor presence(const Bucket& bucket) {
    const auto count = static_cast<std::int64_t>(bucket.count);
    return bucket.message.narrow(0, bucket.message.size(0) - count, count);
  }

  void fill(std::size_t index) {
    const torch::NoGradGuard no_grad;
    Bucket& bucket = buckets_[bucket_of_[index]];
    const torch::Tensor& gradient = parameters_[index].grad();
    const torch::Tensor target = slot(index);
    if (gradient.defined()) {
      target.copy_(gradient);
    } else {
      target.zero_();
    }
    presence(bucket)[static_cast<std::int64_t>(index - bucket.first)].fill_(
        gradient.defined() ? 1 : 0);
    filled_[index] = true;
    --bucket.missing;
  }

  // In order: ranks whose gradients come in another order still agree.
  void send_full_buckets() {
    while (next_ < buckets_.size() && buckets_[next_].missing == 0) {
      Bucket& bucket = buckets_[next_++];
      bucket.pending = group_.start_all_reduce_sum(bucket.message);
    }
  }

  void unpack(Bucket& bucket) {
    const torch::NoGradGuard no_grad;
    const torch::Tensor present = presence(bucket).cpu();
    bucket.message.div_(group_.size());
    for (std::size_t i = 0; i < bucket.count; ++i) {
      torch::Tensor& parameter = parameters_[bucket.first + i];
      if (present[static_cast<std::int64_t>(i)].item<double>() == 0) {
        continue;  // no rank has one
      }
      if (!parameter.grad().defined()) {
        parameter.mutable_grad() = torch::empty_like(parameter);
      }
      parameter.mutable_grad().copy_(slot(bucket.first + i));
    }
  }

  std::vector<torch::Tensor> parameters_;  // reversed
  std::vector<bool> filled_;
  std::vector<std::size_t> bucket_of_;
  std::vector<Bucket> buckets_;
  ProcessGroup group_;
  GradientExchange exchange_;
  std::size_t next_ = 0;  // bucket to be sent
  bool active_ = false;

  // LibTorch keeps only a weak reference to a parameter's accumulator.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

namespace {

// Called by autograd after a parameter's grad() has been written.
template <class Target>
class AccumulatedHook : public torch::autograd::FunctionPostHook {
 public:
  AccumulatedHook(std::weak_ptr<Target> target, std::size_t index)
      : target_(std::move(target)), index_(index) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    if (const auto target = target_.lock()) {
      target->gradient_is_complete(index_);
    }
    return outputs;
  }

 private:
  std::weak_ptr<Target> target_;
  std::size_t index_;
};

}  // namespace

void GradientAverager::Impl::add_hooks(const std::shared_ptr<Impl>& self) {
  for (std::size_t index = 0; index < self->parameters_.size(); ++index) {
    auto accumulator =
        torch::autograd::impl::grad_accumulator(self->parameters_[index]);
    if (!accumulator) {
      continue;  // needs no gradient
    }
    accumulator->add_post_hook(
        std::make_unique<AccumulatedHook<Impl>>(self, index));
    self->accumulators_.push_back(std::move(accumulator));
  }
}

GradientAverager::GradientAverager(
    const std::vector<torch::Tensor>& parameters,
    const ProcessGroup& group,
    const GradientAveragerOptions& options) {
  TORCH_CHECK_VALUE(
      options.bucket_bytes >= 1,
      "GradientAverager: bucket_bytes must be at least 1, got ",
      options.bucket_bytes);
  if (group.size() > 1 && !parameters.empty()) {
    impl_ = std::make_shared<Impl>(parameters, group, options);
    Impl::add_hooks(impl_);
  }
}

GradientAverager::~GradientAverager() = default;

void GradientAverager::begin() {
  if (impl_) {
    impl_->begin();
  }
}

void GradientAverager::finish() {
  if (impl_) {
    impl_->finish();
  }
}

}  // namespace barlow::dist
