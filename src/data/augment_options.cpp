// SPDX-License-Identifier: MIT

#include <string>

#include "barlow/core/error.h"
#include "barlow/data/augment.h"

namespace barlow::data {
namespace {

/// Checks the fields of one view, named `name`.
class Checker {
 public:
  explicit Checker(const std::string& name) : name_(name) {}

  // Comparisons are written so that they are false for NaN.
  void within(const char* field, double x, double low, double high) const {
    if (!(x >= low && x <= high)) {
      refuse(field, x, "in [", low, ", ", high, "]");
    }
  }

  void above(const char* field, double x, double low, double high) const {
    if (!(x > low && x <= high)) {
      refuse(field, x, "in (", low, ", ", high, "]");
    }
  }

  void at_least(const char* field, double x, const char* other, double low)
      const {
    if (!(x >= low)) {
      refuse(field, x, "of at least ", other, " = ", low);
    }
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(const char* field, double x, const Args&... args)
      const {
    fail<UsageError>(
        name_,
        '.',
        field,
        " is ",
        x,
        "; expected a number ",
        args...);
  }

  const std::string& name_;
};

}  // namespace

void validate(const ViewOptions& o, const std::string& name) {
  const Checker check(name);
  check.within("size", o.size, 1, 16384);
  check.above("min_area", o.min_area, 0, 1);
  check.above("max_area", o.max_area, 0, 1);
  check.at_least("max_area", o.max_area, "min_area", o.min_area);
  check.above("min_aspect", o.min_aspect, 0, 1000);
  check.above("max_aspect", o.max_aspect, 0, 1000);
  check.at_least("max_aspect", o.max_aspect, "min_aspect", o.min_aspect);
  check.within("flip_probability", o.flip_probability, 0, 1);
  check.within("jitter_probability", o.jitter_probability, 0, 1);
  check.within("brightness", o.brightness, 0, 100);
  check.within("contrast", o.contrast, 0, 100);
  check.within("saturation", o.saturation, 0, 100);
  check.within("hue", o.hue, 0, 0.5);
  check.within("grey_probability", o.grey_probability, 0, 1);
  check.within("blur_probability", o.blur_probability, 0, 1);
  check.within("blur_min_sigma", o.blur_min_sigma, 0, 100);
  check.within("blur_max_sigma", o.blur_max_sigma, 0, 100);
  check.at_least(
      "blur_max_sigma",
      o.blur_max_sigma,
      "blur_min_sigma",
      o.blur_min_sigma);
  check.within("solarize_probability", o.solarize_probability, 0, 1);
  check.within("solarize_threshold", o.solarize_threshold, 0, 256);
}

}  // namespace barlow::data
