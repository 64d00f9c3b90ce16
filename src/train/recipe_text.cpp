// SPDX-License-Identifier: MIT
//
// Recipes as text: TOML in, TOML out.

#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <toml++/toml.h>

#include "barlow/core/error.h"
#include "barlow/core/text.h"
#include "barlow/train/recipe.h"

namespace barlow::train {
namespace {

const RecipeField* find_field(const std::string& key) {
  for (const RecipeField& field : recipe_fields()) {
    if (field.key == key) {
      return &field;
    }
  }
  return nullptr;
}

[[noreturn]] void refuse_key(const std::string& key) {
  std::vector<std::string> keys;
  for (const RecipeField& field : recipe_fields()) {
    keys.push_back(field.key);
  }
  const std::string nearest = nearest_name(key, keys);
  fail<UsageError>(
      "unknown recipe key ",
      key,
      nearest.empty() ? "" : ", did you mean " + nearest + "?");
}

RecipeValue to_value(const toml::node& node, const std::string& key) {
  if (const auto* truth = node.as_boolean()) {
    return truth->get();
  }
  if (const auto* number = node.as_integer()) {
    return number->get();
  }
  if (const auto* number = node.as_floating_point()) {
    return number->get();
  }
  if (const auto* words = node.as_string()) {
    return words->get();
  }
  std::vector<double> numbers;
  if (const auto* array = node.as_array()) {
    for (const toml::node& item : *array) {
      const std::optional<double> number = item.value<double>();
      if (!number) {
        fail<UsageError>(key, ": expected a list of numbers");
      }
      numbers.push_back(*number);
    }
    return numbers;
  }
  fail<UsageError>(key, ": found a date or table, expected a value");
}

void set_checked(
    Recipe& recipe,
    const std::string& key,
    const RecipeValue& value) {
  const RecipeField* field = find_field(key);
  if (field == nullptr) {
    refuse_key(key);
  }
  field->set(recipe, value);
}

void read_table(
    Recipe& recipe,
    const toml::table& table,
    const std::string& prefix) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    if (const toml::table* inner = node.as_table()) {
      read_table(recipe, *inner, key + ".");
    } else {
      set_checked(recipe, key, to_value(node, key));
    }
  }
}

// Shortest text that reads back to the same number, with a mark of a float.
template <class Number>
std::string number_text(Number number) {
  std::array<char, 40> buffer{};
  const auto [end, error] = std::to_chars(buffer.begin(), buffer.end(), number);
  std::string text(buffer.begin(), end);
  if (text.find_first_of(".en") == std::string::npos) {
    text += ".0";
  }
  return text;
}

std::string quoted(const std::string& words) {
  std::ostringstream out;
  const toml::value<std::string> node(words);
  out << toml::toml_formatter(node, toml::format_flags::none);
  return out.str();
}

// Text of a command line as a value: TOML where it parses, else a bare word;
// "a,b,c" is a list.
RecipeValue parse_argument(const std::string& key, const std::string& text) {
  const bool bare_list = text.find(',') != std::string::npos &&
                         text.find('[') == std::string::npos;
  const std::string literal = bare_list ? "[" + text + "]" : text;
  try {
    const toml::table table = toml::parse("x = " + literal);
    if (table.size() == 1) {
      return to_value(*table.get("x"), key);
    }
  } catch (const toml::parse_error&) {
  }
  return text;
}

}  // namespace

std::string recipe_value_text(const RecipeValue& value) {
  if (const auto* truth = std::get_if<bool>(&value)) {
    return *truth ? "true" : "false";
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return number_text(*number);
  }
  if (const auto* words = std::get_if<std::string>(&value)) {
    return quoted(*words);
  }
  std::vector<std::string> parts;
  for (const double number : std::get<std::vector<double>>(value)) {
    parts.push_back(number_text(static_cast<float>(number)));
  }
  std::string list = "[";
  list.append(join(parts)).append("]");
  return list;
}

void read_recipe_text(
    Recipe& recipe,
    const std::string& text,
    const std::string& name) {
  try {
    read_table(recipe, toml::parse(text), "");
  } catch (const toml::parse_error& error) {
    fail<UsageError>(
        name,
        ", line ",
        error.source().begin.line,
        ", column ",
        error.source().begin.column,
        ": ",
        error.description());
  } catch (const UsageError& error) {
    fail<UsageError>(name, ": ", error.what());
  }
}

void read_recipe_file(Recipe& recipe, const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  std::error_code error;
  if (!stream || !std::filesystem::is_regular_file(path, error)) {
    fail<UsageError>(path.string(), ": cannot read this recipe file");
  }
  read_recipe_text(recipe, text.str(), path.string());
}

void set_recipe_key(
    Recipe& recipe,
    const std::string& key,
    const std::string& value) {
  const RecipeField* field = find_field(key);
  if (field == nullptr) {
    refuse_key(key);
  }
  // A word that looks like a number stays a word where a word is expected:
  // a projector of one layer is written 128.
  const bool wants_text =
      std::holds_alternative<std::string>(field->get(recipe));
  field->set(
      recipe,
      wants_text ? RecipeValue(value) : parse_argument(key, value));
}

std::string recipe_to_toml(const Recipe& recipe) {
  std::ostringstream out;
  std::string group;
  std::string table;
  for (const RecipeField& field : recipe_fields()) {
    const std::size_t dot = field.key.find('.');
    if (field.group != group) {
      group = field.group;
      out << (out.tellp() > 0 ? "\n" : "") << "# " << group << "\n";
    }
    std::string name = field.key;
    if (dot != std::string::npos) {
      name = field.key.substr(dot + 1);
      if (field.key.substr(0, dot) != table) {
        table = field.key.substr(0, dot);
        out << "[" << table << "]\n";
      }
    }
    out << name << " = " << recipe_value_text(field.get(recipe)) << "\n";
  }
  return out.str();
}

}  // namespace barlow::train
