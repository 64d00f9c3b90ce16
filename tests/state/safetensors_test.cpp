// SPDX-License-Identifier: MIT

#include "barlow/state/safetensors.h"

#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "state/files.h"
#include "support/tensors.h"

namespace barlow::state {
namespace {

// Equal type, shape and bits; -0 differs from 0, a NaN equals itself.
bool same(const torch::Tensor& a, const torch::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() &&
         (a.numel() == 0 ||
          a.contiguous()
              .view(-1)
              .view(torch::kUInt8)
              .equal(b.contiguous().view(-1).view(torch::kUInt8)));
}

void expect_same(const NamedTensors& actual, const NamedTensors& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(actual.contains(name)) << name;
    EXPECT_TRUE(same(actual.at(name), tensor)) << name;
  }
}

// What tests/oracle/state.py holds too.
TensorFile oracle_values() {
  TensorFile file;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto add_float = [&](const char* name,
                             auto type,
                             double max,
                             double min) {
    file.tensors[name] =
        torch::tensor({0.0, -0.0, 1.5, max, -min, infinity}, torch::kFloat64)
            .to(type)
            .view({2, 3});
  };
  using Double = std::numeric_limits<double>;
  using Float = std::numeric_limits<float>;
  add_float("torch.float64", torch::kFloat64, Double::max(), Double::min());
  add_float("torch.float32", torch::kFloat32, Float::max(), Float::min());
  add_float("torch.float16", torch::kFloat16, 65504.0, 0x1p-14);
  add_float("torch.bfloat16", torch::kBFloat16, 0x1.fep127, 0x1p-126);
  const auto add_integer = [&]<class T>(const char* name, auto type, T) {
    using Limits = std::numeric_limits<T>;
    file.tensors[name] = torch::tensor(
                             {std::int64_t{Limits::min()},
                              std::int64_t{0},
                              std::int64_t{Limits::max()}},
                             torch::kInt64)
                             .to(type);
  };
  add_integer("torch.int64", torch::kInt64, std::int64_t{});
  add_integer("torch.int32", torch::kInt32, std::int32_t{});
  add_integer("torch.int16", torch::kInt16, std::int16_t{});
  add_integer("torch.int8", torch::kInt8, std::int8_t{});
  add_integer("torch.uint8", torch::kUInt8, std::uint8_t{});
  file.tensors["torch.bool"] =
      torch::tensor({1, 0, 1}, torch::kInt64).to(torch::kBool);
  file.tensors["scalar"] = torch::tensor(-2.25F);
  file.tensors["empty"] = torch::zeros({0, 3});
  file.tensors["transposed"] =
      torch::arange(6, torch::kFloat32).view({2, 3}).t();
  file.metadata = {
      {"note", "gr\u00fc\u00dfe \u6771\u4eac \U0001f600"},
      {"empty", ""}};
  return file;
}

TEST(Safetensors, ReadsBackEveryTypeAndShapeWithTheSameBits) {
  const test::TemporaryFolder folder;
  TensorFile file = oracle_values();
  file.tensors["nan"] =
      torch::tensor({std::numeric_limits<double>::quiet_NaN()});
  file.tensors["strided"] = torch::arange(24).view({4, 6}).slice(1, 0, 6, 2);
  file.tensors["expanded"] = torch::arange(3).expand({2, 3});
  file.tensors["quote\"\n\\ \u00e9"] = torch::ones({1});
  write_safetensors(folder.path() / "a", file);
  const TensorFile read = read_safetensors(folder.path() / "a");
  expect_same(read.tensors, file.tensors);
  EXPECT_EQ(read.metadata, file.metadata);
}

TEST(Safetensors, WritesTheSameBytesForTheSameContent) {
  const test::TemporaryFolder folder;
  write_safetensors(folder.path() / "a", oracle_values());
  write_safetensors(folder.path() / "b", oracle_values());
  EXPECT_EQ(
      test::read_bytes(folder.path() / "a"),
      test::read_bytes(folder.path() / "b"));
}

TEST(Safetensors, HoldsNothingAtAll) {
  const test::TemporaryFolder folder;
  write_safetensors(folder.path() / "a", {});
  const TensorFile read = read_safetensors(folder.path() / "a");
  EXPECT_TRUE(read.tensors.empty());
  EXPECT_TRUE(read.metadata.empty());
}

TEST(Safetensors, ReadTensorsOwnTheirMemory) {
  const test::TemporaryFolder folder;
  write_safetensors(
      folder.path() / "a",
      {.tensors = {{"x", torch::ones({4})}}});
  const TensorFile read = read_safetensors(folder.path() / "a");
  std::filesystem::remove(folder.path() / "a");
  read.tensors.at("x").add_(1);
  EXPECT_TRUE(read.tensors.at("x").equal(torch::full({4}, 2.0)));
}

TEST(Safetensors, ReadsWhatPythonWrote) {
  const TensorFile read = read_safetensors(
      std::filesystem::path(BARLOW_ORACLE_DIR) / "python.safetensors");
  const TensorFile expected = oracle_values();
  expect_same(read.tensors, expected.tensors);
  EXPECT_EQ(read.metadata, expected.metadata);
}

TEST(Safetensors, WritesWhatPythonReadsAligned) {
  const test::TemporaryFolder folder;
  const std::string path = (folder.path() / "a.safetensors").string();
  write_safetensors(path, oracle_values());
  const std::string command = std::string(BARLOW_PYTHON) + " " +
                              BARLOW_SOURCE_DIR +
                              "/tests/oracle/state.py check " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

TEST(Safetensors, RefusesToWriteWhatTheFormatCannotHold) {
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a";
  const auto refuses = [&](const TensorFile& file) {
    EXPECT_THROW(write_safetensors(path, file), Error);
    EXPECT_FALSE(std::filesystem::exists(path));
  };
  refuses({.tensors = {{"x", torch::Tensor()}}});
  refuses({.tensors = {{"x", torch::zeros({2}, torch::kComplexFloat)}}});
  refuses({.tensors = {{"x", torch::zeros({2}).to_sparse()}}});
  refuses({.tensors = {{"__metadata__", torch::zeros({2})}}});
  refuses({.tensors = {{"\xff", torch::zeros({2})}}});
  refuses({.metadata = {{"key", "\xff"}}});
  refuses({.metadata = {{"\xff", "value"}}});
}

}  // namespace
}  // namespace barlow::state
