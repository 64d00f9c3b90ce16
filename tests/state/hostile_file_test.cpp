// SPDX-License-Identifier: MIT
//
// Files that are damaged, or made to harm.

#include <algorithm>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/state/safetensors.h"
#include "state/files.h"
#include "support/tensors.h"

namespace barlow::state {
namespace {

struct Case {
  const char* name;
  std::string bytes;
  const char* found;  // what the message says
};

std::string one_tensor(
    const std::string& type,
    const std::string& shape,
    const std::string& offsets,
    std::size_t data_bytes) {
  return test::safetensors_bytes(
      "{\"x\":{\"dtype\":" + type + ",\"shape\":" + shape +
          ",\"data_offsets\":" + offsets + "}}",
      std::string(data_bytes, '\0'));
}

std::string two_tensors(const std::string& first, const std::string& second) {
  return test::safetensors_bytes(
      R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
          R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
      std::string(8, '\0'));
}

std::vector<Case> cases() {
  const std::string huge_length("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
  const std::string deep(1'000'000, '[');
  const auto tensor = one_tensor;
  return {
      {"NoBytes", "", "0 bytes"},
      {"SevenBytes", "1234567", "7 bytes"},
      {"HugeHeaderLength", huge_length, "18446744073709551615 bytes"},
      {"HeaderLongerThanTheFile", std::string("\x9\0\0\0\0\0\0\0{}", 10), "9"},
      {"NotJson", test::safetensors_bytes("{\"x\"", ""), "not a JSON object"},
      {"NotAnObject", test::safetensors_bytes("[1]", ""), "not a JSON object"},
      {"NotUtf8", test::safetensors_bytes("{\"\xff\":1}", ""), "not a JSON"},
      {"Deep", test::safetensors_bytes(deep, ""), "not a JSON object"},
      {"NestedShape", tensor("\"U8\"", "[[4]]", "[0,4]", 4), "nested deeper"},
      {"NumberInMetadata",
       test::safetensors_bytes(R"({"__metadata__":{"a":1}})", ""),
       "\"a\" is not a string"},
      {"MetadataNoObject",
       test::safetensors_bytes(R"({"__metadata__":"a"})", ""),
       "not an object of strings"},
      {"ListedTwice",
       test::safetensors_bytes(
           R"({"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
           R"("x":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
           "1"),
       "\"x\" is listed twice"},
      {"EntryNoObject", test::safetensors_bytes(R"({"x":1})", ""), "no dtype"},
      {"NoShape",
       test::safetensors_bytes(
           R"({"x":{"dtype":"U8","data_offsets":[0,0]}})",
           ""),
       "no shape"},
      {"UnknownType", tensor("\"F8\"", "[4]", "[0,4]", 4), "type \"F8\""},
      {"TypeNoString", tensor("8", "[4]", "[0,4]", 4), "type 8"},
      {"ShapeNoArray", tensor("\"U8\"", "4", "[0,4]", 4), "no shape"},
      {"NegativeSize", tensor("\"U8\"", "[-4]", "[0,4]", 4), "size -4"},
      {"FractionalSize", tensor("\"U8\"", "[4.0]", "[0,4]", 4), "size 4.0"},
      {"SizeBeyond63Bits",
       tensor("\"U8\"", "[18446744073709551615]", "[0,4]", 4),
       "size 18446744073709551615"},
      {"ProductWrapsTo4",
       tensor("\"U8\"", "[4611686018427387905,4]", "[0,4]", 4),
       "impossibly large"},
      {"HugeButEmpty",
       tensor("\"U8\"", "[4611686018427387905,4,0]", "[0,0]", 0),
       "impossibly large"},
      {"SixtyFiveDimensions",
       tensor(
           "\"U8\"",
           "[1" + std::string([] {
             std::string ones;
             for (int i = 0; i < 64; ++i) {
               ones += ",1";
             }
             return ones;
           }()) +
               "]",
           "[0,1]",
           1),
       "at most 64"},
      {"ShapeTooSmall", tensor("\"F32\"", "[3]", "[0,16]", 16), "needs 12"},
      {"ShapeTooLarge", tensor("\"F32\"", "[5]", "[0,16]", 16), "needs 20"},
      {"OffsetsReversed", tensor("\"U8\"", "[0]", "[0,-4]", 4), "[0,-4]"},
      {"ThreeOffsets", tensor("\"U8\"", "[4]", "[0,4,4]", 4), "[0,4,4]"},
      {"EndBeyondTheFile", tensor("\"U8\"", "[5]", "[0,5]", 4), "outside"},
      {"GapAtTheBegin", tensor("\"U8\"", "[4]", "[1,5]", 5), "gap"},
      {"Overlap", two_tensors("[0,4]", "[3,7]"), "overlaps"},
      {"SameBytes", two_tensors("[0,4]", "[0,4]"), "overlaps"},
      {"Gap", two_tensors("[0,4]", "[5,9]"), "gap"},
      {"DataLeftOver", two_tensors("[0,4]", "[4,8]") + "x", "lists 8"},
      {"BoolOfTwo",
       test::safetensors_bytes(
           R"({"x":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})",
           "\x2"),
       "other bytes than 0 and 1"},
      {"LineBreakInAName",
       test::safetensors_bytes(R"({"a\nb":{"dtype":"U8"}})", ""),
       R"("a\nb")"},
  };
}

void expect_one_line_error(
    const std::filesystem::path& path,
    const std::string& found) {
  try {
    static_cast<void>(read_safetensors(path));
    FAIL() << "read as if it were whole";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0) << text;
    EXPECT_TRUE(text.starts_with(path.string())) << text;
    EXPECT_NE(text.find(found), std::string::npos)
        << text << "\nexpected to hold: " << found;
    EXPECT_LT(text.size(), 400U);
  }
}

TEST(HostileFile, IsRefusedInOneLine) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  for (const Case& hostile : cases()) {
    SCOPED_TRACE(hostile.name);
    test::write_bytes(path, hostile.bytes);
    expect_one_line_error(path, hostile.found);
  }
}

TEST(HostileFile, CutAnywhereIsRefused) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  write_safetensors(
      path,
      {.tensors = {{"x", torch::ones({50})}, {"y", torch::ones({3})}},
       .metadata = {{"step", "1"}}});
  const std::string whole = test::read_bytes(path);
  for (std::size_t twentieth = 0; twentieth < 20; ++twentieth) {
    SCOPED_TRACE(twentieth);
    test::write_bytes(path, whole.substr(0, whole.size() * twentieth / 20));
    expect_one_line_error(path, "not a whole safetensors file");
  }
  test::write_bytes(path, whole.substr(0, whole.size() - 1));
  expect_one_line_error(path, "not a whole safetensors file");
}

// Each byte of the header, set to each of a few values: refused, or read as
// something. Meant for the sanitizers too.
TEST(HostileFile, AnyChangedHeaderByteIsSurvived) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  write_safetensors(
      path,
      {.tensors = {{"x", torch::ones({2, 3})}, {"y", torch::ones({})}},
       .metadata = {{"step", "1"}}});
  const std::string whole = test::read_bytes(path);
  int refused = 0;
  for (std::size_t i = 0; i + 28 < whole.size(); ++i) {
    for (const char value : {'\0', '9', '"', '[', '}', '-', '\xff'}) {
      std::string changed = whole;
      changed[i] = value;
      test::write_bytes(path, changed);
      try {
        static_cast<void>(read_safetensors(path));
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(HostileFile, AnyFlippedBitOfTheDataIsRefused) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  write_safetensors(path, {.tensors = {{"x", torch::ones({4})}}});
  const std::string whole = test::read_bytes(path);
  for (std::size_t bit = 0; bit < 128; ++bit) {
    std::string changed = whole;
    changed[whole.size() - 16 + bit / 8] ^= static_cast<char>(1U << bit % 8);
    test::write_bytes(path, changed);
    expect_one_line_error(path, "do not match its checksum");
  }
}

TEST(HostileFile, AChangedNameOrTextIsRefused) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.safetensors";
  write_safetensors(
      path,
      {.tensors = {{"weight", torch::ones({4})}},
       .metadata = {{"recipe", "seed = 3"}}});
  const std::string whole = test::read_bytes(path);
  for (const char* text : {"weight", "seed = 3"}) {
    std::string changed = whole;
    changed[whole.find(text) + 2] ^= 1;
    test::write_bytes(path, changed);
    expect_one_line_error(path, "do not match its checksum");
  }
}

TEST(HostileFile, AbsentFileAndFolderAreNamed) {
  const test::TemporaryFolder folder;
  expect_one_line_error(folder.path() / "none", "No such file");
  expect_one_line_error(folder.path(), "Is a directory");
}

}  // namespace
}  // namespace barlow::state
