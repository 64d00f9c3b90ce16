// SPDX-License-Identifier: MIT

#include "barlow/model/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/version.h>

namespace barlow::model {
namespace {

torch::DeviceType checked_device(torch::DeviceType device, torch::Dtype dtype) {
  const bool supported =
      dtype == torch::kBFloat16
          ? device == torch::kCPU || device == torch::kCUDA
          : dtype == torch::kFloat16 && device == torch::kCUDA;
  TORCH_CHECK_VALUE(
      supported,
      "AutocastScope: expected bfloat16 on CPU or CUDA, or float16 on CUDA; "
      "got ",
      dtype,
      " on ",
      device);
  return device;
}

#if TORCH_VERSION_MAJOR > 2 || \
    (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)

bool enabled(torch::DeviceType device) {
  return at::autocast::is_autocast_enabled(device);
}
torch::Dtype dtype_of(torch::DeviceType device) {
  return at::autocast::get_autocast_dtype(device);
}
void set(torch::DeviceType device, bool on, torch::Dtype dtype) {
  at::autocast::set_autocast_enabled(device, on);
  at::autocast::set_autocast_dtype(device, dtype);
}

#else

bool enabled(torch::DeviceType device) {
  return device == torch::kCPU ? at::autocast::is_cpu_enabled()
                               : at::autocast::is_enabled();
}
torch::Dtype dtype_of(torch::DeviceType device) {
  return device == torch::kCPU ? at::autocast::get_autocast_cpu_dtype()
                               : at::autocast::get_autocast_gpu_dtype();
}
void set(torch::DeviceType device, bool on, torch::Dtype dtype) {
  if (device == torch::kCPU) {
    at::autocast::set_cpu_enabled(on);
    at::autocast::set_autocast_cpu_dtype(dtype);
  } else {
    at::autocast::set_enabled(on);
    at::autocast::set_autocast_gpu_dtype(dtype);
  }
}

#endif

}  // namespace

AutocastScope::AutocastScope(torch::DeviceType device, torch::Dtype dtype)
    : device_(checked_device(device, dtype)),
      was_enabled_(enabled(device)),
      previous_dtype_(dtype_of(device)) {
  at::autocast::increment_nesting();
  set(device_, /*on=*/true, dtype);
}

AutocastScope::~AutocastScope() {
  if (at::autocast::decrement_nesting() == 0) {
    at::autocast::clear_cache();
  }
  set(device_, was_enabled_, previous_dtype_);
}

}  // namespace barlow::model
