// SPDX-License-Identifier: MIT

#include "barlow/flag_checks.h"

#include <cstdlib>
#include <functional>
#include <sstream>

namespace barlow::app {
namespace {

CLI::Validator check_of(
    const std::function<bool(const std::string&)>& accepts,
    const std::string& expected) {
  return {
      [=](const std::string& value) {
        return accepts(value) ? std::string()
                              : "found \"" + value + "\", expected " + expected;
      },
      ""};
}

}  // namespace

CLI::Validator in_range(double least, double most) {
  std::ostringstream expected;
  expected.precision(12);
  expected << "a number from " << least << " to " << most;
  return check_of(
      [=](const std::string& value) {
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        return !value.empty() && *end == '\0' && number >= least &&
               number <= most;
      },
      expected.str());
}

CLI::Validator not_empty() {
  return check_of(
      [](const std::string& value) { return !value.empty(); },
      "a name");
}

CLI::Validator ends_with(const std::string& ending) {
  return check_of(
      [=](const std::string& value) {
        return value.size() > ending.size() && value.ends_with(ending);
      },
      "a name that ends with " + ending);
}

}  // namespace barlow::app
