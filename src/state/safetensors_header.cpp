// SPDX-License-Identifier: MIT

#include "state/safetensors_header.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "barlow/core/error.h"

namespace barlow::state::detail {
namespace {

using Json = nlohmann::json;

constexpr const char* kMetadataKey = "__metadata__";

// An entry's shape is the deepest value: header, entry, array of sizes.
constexpr int kMaxDepth = 3;

// LibTorch keeps sets of dimensions in 64 bits.
constexpr std::size_t kMaxDimensions = 64;

constexpr std::array<std::pair<const char*, torch::ScalarType>, 10> kTypes{{
    {"F64", torch::kFloat64},
    {"F32", torch::kFloat32},
    {"F16", torch::kFloat16},
    {"BF16", torch::kBFloat16},
    {"I64", torch::kInt64},
    {"I32", torch::kInt32},
    {"I16", torch::kInt16},
    {"I8", torch::kInt8},
    {"U8", torch::kUInt8},
    {"BOOL", torch::kBool},
}};

const char* type_name(torch::ScalarType type) {
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& candidate) {
        return candidate.second == type;
      });
  return found == kTypes.end() ? nullptr : found->first;
}

// Names come from a file: in quotes, and without line breaks or bytes that are
// not UTF-8.
std::string quoted(const std::string& name) {
  return Json(name).dump(-1, ' ', true, Json::error_handler_t::replace);
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(Json(text).dump());
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

Json parse_json(const std::string& text) {
  using Event = Json::parse_event_t;
  std::set<std::string> names;
  std::string twice;
  bool too_deep = false;
  const auto check = [&](int depth, Event event, Json& value) {
    if (event == Event::key && depth == 1) {
      const auto name = value.get<std::string>();
      if (!names.insert(name).second) {
        twice = name;
      }
    }
    const bool deeper = depth >= kMaxDepth && (event == Event::object_start ||
                                               event == Event::array_start);
    too_deep = too_deep || deeper;
    return !deeper;  // skipped, not built
  };
  Json json = Json::parse(text, check, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    fail("its header is not a JSON object");
  }
  if (too_deep) {
    fail("its header is nested deeper than the format's");
  }
  if (!twice.empty()) {
    fail("tensor ", quoted(twice), " is listed twice");
  }
  return json;
}

Metadata parse_metadata(const Json& json) {
  if (!json.is_object()) {
    fail("its metadata is not an object of strings");
  }
  Metadata metadata;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      fail("its metadata ", quoted(key), " is not a string");
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

const Json& field(const std::string& name, const Json& entry, const char* key) {
  if (!entry.is_object() || !entry.contains(key)) {
    fail("tensor ", quoted(name), " has no ", key);
  }
  return entry.at(key);
}

torch::ScalarType parse_type(const std::string& name, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  const auto* found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& candidate) {
        return candidate.first == text;
      });
  if (found == kTypes.end()) {
    fail("tensor ", quoted(name), " has the unknown type ", value.dump());
  }
  return found->second;
}

std::vector<std::int64_t> parse_shape(
    const std::string& name,
    const Json& value) {
  if (!value.is_array() || value.size() > kMaxDimensions) {
    fail(
        "tensor ",
        quoted(name),
        " has no shape of at most ",
        kMaxDimensions,
        " sizes");
  }
  std::vector<std::int64_t> shape;
  for (const Json& size : value) {
    constexpr auto kMax =
        std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (!size.is_number_unsigned() || size.get<std::uint64_t>() > kMax) {
      fail("tensor ", quoted(name), " has the impossible size ", size.dump());
    }
    shape.push_back(size.get<std::int64_t>());
  }
  return shape;
}

std::pair<std::uint64_t, std::uint64_t> parse_offsets(
    const std::string& name,
    const Json& value) {
  if (!value.is_array() || value.size() != 2 ||
      !value[0].is_number_unsigned() || !value[1].is_number_unsigned()) {
    fail("tensor ", quoted(name), " has the offsets ", value.dump());
  }
  return {value[0].get<std::uint64_t>(), value[1].get<std::uint64_t>()};
}

TensorEntry parse_entry(const std::string& name, const Json& value) {
  TensorEntry entry;
  entry.name = name;
  entry.type = parse_type(name, field(name, value, "dtype"));
  entry.shape = parse_shape(name, field(name, value, "shape"));
  std::tie(entry.begin, entry.end) =
      parse_offsets(name, field(name, value, "data_offsets"));
  return entry;
}

// Bytes that the shape needs; fails where that, or the stride of a tensor
// without elements, would overflow.
std::uint64_t bytes_of_shape(const TensorEntry& entry) {
  std::uint64_t product = torch::elementSize(entry.type);
  bool is_empty = false;
  for (const std::int64_t extent : entry.shape) {
    const auto factor = static_cast<std::uint64_t>(extent);
    is_empty = is_empty || factor == 0;
    constexpr auto kMax =
        std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    if (factor > 0 && product > kMax / factor) {
      fail("tensor ", quoted(entry.name), " has an impossibly large shape");
    }
    product *= std::max<std::uint64_t>(factor, 1);
  }
  return is_empty ? 0 : product;
}

void check_layout(
    const std::vector<TensorEntry>& entries,
    std::uint64_t data_bytes) {
  std::uint64_t position = 0;
  for (const TensorEntry& entry : entries) {
    const std::string name = quoted(entry.name);
    if (entry.begin != position) {
      fail("tensor ", name, " overlaps another or follows a gap");
    }
    if (entry.begin > entry.end || entry.end > data_bytes) {
      fail("tensor ", name, " lies outside of the file, or the file is cut");
    }
    const std::uint64_t expected = bytes_of_shape(entry);
    if (entry.end - entry.begin != expected) {
      fail(
          "tensor ",
          name,
          " has ",
          entry.end - entry.begin,
          " bytes, its shape needs ",
          expected);
    }
    position = entry.end;
  }
  if (position != data_bytes) {
    fail(data_bytes, " bytes of data, its header lists ", position);
  }
}

}  // namespace

Header plan_header(const TensorFile& file) {
  Header header;
  for (const auto& [name, tensor] : file.tensors) {
    if (name == kMetadataKey || !is_utf8(name)) {
      fail("tensor ", quoted(name), ": this name cannot be saved");
    }
    if (!tensor.defined() || tensor.layout() != torch::kStrided ||
        type_name(tensor.scalar_type()) == nullptr) {
      fail(
          "tensor ",
          quoted(name),
          ": ",
          tensor.toString(),
          " cannot be saved, only dense floating-point, integer and boolean");
    }
    header.entries.push_back(
        {.name = name,
         .type = tensor.scalar_type(),
         .shape = tensor.sizes().vec(),
         .end = tensor.nbytes()});  // as if it were the first
  }
  for (const auto& [key, value] : file.metadata) {
    if (!is_utf8(key) || !is_utf8(value)) {
      fail("metadata ", quoted(key), ": not UTF-8, cannot be saved");
    }
  }
  header.metadata = file.metadata;
  std::stable_sort(
      header.entries.begin(),
      header.entries.end(),
      [](const TensorEntry& a, const TensorEntry& b) {
        return torch::elementSize(a.type) > torch::elementSize(b.type);
      });
  std::uint64_t offset = 0;
  for (TensorEntry& entry : header.entries) {
    entry.begin += offset;
    entry.end += offset;
    offset = entry.end;
  }
  return header;
}

std::string header_text(const Header& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) {
    json[kMetadataKey] = header.metadata;
  }
  for (const TensorEntry& entry : header.entries) {
    json[entry.name] = {
        {"dtype", type_name(entry.type)},
        {"shape", entry.shape},
        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = json.dump();
  if (text.size() > kMaxHeaderBytes - 8) {
    fail("names and metadata of ", text.size(), " bytes: too much to save");
  }
  return text;
}

Header parse_header(const std::string& text, std::uint64_t data_bytes) {
  const Json json = parse_json(text);
  Header header;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadataKey) {
      header.metadata = parse_metadata(value);
    } else {
      header.entries.push_back(parse_entry(name, value));
    }
  }
  std::sort(
      header.entries.begin(),
      header.entries.end(),
      [](const TensorEntry& a, const TensorEntry& b) {
        return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
      });
  check_layout(header.entries, data_bytes);
  return header;
}

}  // namespace barlow::state::detail
