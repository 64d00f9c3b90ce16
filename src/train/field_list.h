// SPDX-License-Identifier: MIT
//
// Builds the list of recipe fields: one line a field, whose accessor
// `[](auto& recipe) -> auto& { return recipe.member; }` serves get and set.

#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "barlow/train/recipe.h"

namespace barlow::train {

enum class UpperEnd { kClosed, kOpen };

/// What a field accepts; the lower end belongs to it.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  UpperEnd end = UpperEnd::kClosed;

  [[nodiscard]] bool contains(double x) const {
    return x >= low && (end == UpperEnd::kClosed ? x <= high : x < high);
  }

  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    if (std::isinf(high)) {
      out << ">= " << low;
    } else {
      out << "in [" << low << ", " << high
          << (end == UpperEnd::kClosed ? "]" : ")");
    }
    return out.str();
  }
};

template <class Enum>
using Choices = std::vector<std::pair<std::string, Enum>>;

class FieldList {
 public:
  void group(std::string name) { group_ = std::move(name); }

  /// Fields added from here on may differ between a run and its continuation.
  void on_resume(OnResume policy) { on_resume_ = policy; }

  template <class Access>
  void integer(std::string key, Range range, std::string help, Access access) {
    using Member =
        std::remove_reference_t<decltype(access(std::declval<Recipe&>()))>;
    RecipeField& field = add(std::move(key), std::move(help));
    field.expected = "an integer " + range.text();
    field.get = [access](const Recipe& recipe) -> RecipeValue {
      return static_cast<std::int64_t>(access(recipe));
    };
    field.set = [access, range, key = field.key, expected = field.expected](
                    Recipe& recipe,
                    const RecipeValue& value) {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (number == nullptr || !range.contains(static_cast<double>(*number))) {
        refuse(key, value, expected);
      }
      access(recipe) = static_cast<Member>(*number);
    };
  }

  template <class Access>
  void real(std::string key, Range range, std::string help, Access access) {
    RecipeField& field = add(std::move(key), std::move(help));
    field.expected = "a number " + range.text();
    field.get = [access](const Recipe& recipe) -> RecipeValue {
      return static_cast<double>(access(recipe));
    };
    field.set = [access, range, key = field.key, expected = field.expected](
                    Recipe& recipe,
                    const RecipeValue& value) {
      const auto* whole = std::get_if<std::int64_t>(&value);
      const auto* number = std::get_if<double>(&value);
      const double x = whole != nullptr    ? static_cast<double>(*whole)
                       : number != nullptr ? *number
                                           : std::nan("");
      if (!std::isfinite(x) || !range.contains(x)) {
        refuse(key, value, expected);
      }
      access(recipe) = x;
    };
  }

  template <class Access>
  void flag(std::string key, std::string help, Access access) {
    RecipeField& field = add(std::move(key), std::move(help));
    field.expected = "true or false";
    field.get = [access](const Recipe& recipe) -> RecipeValue {
      return static_cast<bool>(access(recipe));
    };
    field.set = [access, key = field.key, expected = field.expected](
                    Recipe& recipe,
                    const RecipeValue& value) {
      const auto* truth = std::get_if<bool>(&value);
      if (truth == nullptr) {
        refuse(key, value, expected);
      }
      access(recipe) = *truth;
    };
  }

  template <class Access>
  void
  text(std::string key, std::string expected, std::string help, Access access) {
    RecipeField& field = add(std::move(key), std::move(help));
    field.expected = std::move(expected);
    field.get = [access](const Recipe& recipe) -> RecipeValue {
      return access(recipe);
    };
    field.set = [access, key = field.key, expected = field.expected](
                    Recipe& recipe,
                    const RecipeValue& value) {
      const auto* words = std::get_if<std::string>(&value);
      if (words == nullptr) {
        refuse(key, value, expected);
      }
      access(recipe) = *words;
    };
  }

  template <class Enum, class Access>
  void choice(
      std::string key,
      Choices<Enum> choices,
      std::string help,
      Access access) {
    RecipeField& field = add(std::move(key), std::move(help));
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      names.push_back(name);
    }
    field.expected = "one of " + join(names);
    field.get = [access, choices](const Recipe& recipe) -> RecipeValue {
      for (const auto& [name, value] : choices) {
        if (value == access(recipe)) {
          return name;
        }
      }
      return std::string("?");
    };
    field.set = [access, choices, key = field.key, expected = field.expected](
                    Recipe& recipe,
                    const RecipeValue& value) {
      const auto* word = std::get_if<std::string>(&value);
      for (const auto& [name, candidate] : choices) {
        if (word != nullptr && *word == name) {
          access(recipe) = candidate;
          return;
        }
      }
      refuse(key, value, expected);
    };
  }

  /// Three numbers, one a channel.
  template <class Access>
  void triple(std::string key, Range range, std::string help, Access access) {
    RecipeField& field = add(std::move(key), std::move(help));
    field.expected = "three numbers, each " + range.text();
    field.get = [access](const Recipe& recipe) -> RecipeValue {
      const std::array<float, 3>& member = access(recipe);
      return std::vector<double>(member.begin(), member.end());
    };
    field.set = [access, range, key = field.key, expected = field.expected](
                    Recipe& recipe,
                    const RecipeValue& value) {
      const auto* numbers = std::get_if<std::vector<double>>(&value);
      if (numbers == nullptr || numbers->size() != 3) {
        refuse(key, value, expected);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        if (!range.contains((*numbers)[i])) {
          refuse(key, value, expected);
        }
        access(recipe)[i] = static_cast<float>((*numbers)[i]);
      }
    };
  }

  [[nodiscard]] std::vector<RecipeField> take() { return std::move(fields_); }

 private:
  RecipeField& add(std::string key, std::string help) {
    RecipeField& field = fields_.emplace_back();
    field.key = std::move(key);
    field.group = group_;
    field.help = std::move(help);
    field.on_resume = on_resume_;
    return field;
  }

  [[noreturn]] static void refuse(
      const std::string& key,
      const RecipeValue& value,
      const std::string& expected) {
    fail<UsageError>(
        key,
        ": found ",
        recipe_value_text(value),
        ", expected ",
        expected);
  }

  std::vector<RecipeField> fields_;
  std::string group_;
  OnResume on_resume_ = OnResume::kMustMatch;
};

}  // namespace barlow::train
