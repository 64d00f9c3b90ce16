// SPDX-License-Identifier: MIT
//
// Small data sets on disk, made by the tests.

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>
#include <zlib.h>

#include <gtest/gtest.h>

#include "barlow/core/error.h"
#include "barlow/data/dataset.h"

namespace barlow::data {

namespace fs = std::filesystem;

using Bytes = std::vector<std::uint8_t>;

/// Also makes the folders above it.
inline void write_bytes(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  for (const std::uint8_t byte : bytes) {
    file.put(static_cast<char>(byte));
  }
  ASSERT_TRUE(file.good()) << path;
}

inline void write_gzip(const fs::path& path, const Bytes& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

/// An IDX file of unsigned bytes: header and numbers.
inline Bytes idx_bytes(
    const std::vector<std::uint32_t>& dimensions,
    const Bytes& numbers) {
  Bytes bytes{0, 0, 8, static_cast<std::uint8_t>(dimensions.size())};
  for (const std::uint32_t size : dimensions) {
    for (const std::uint32_t shift : {24U, 16U, 8U, 0U}) {
      bytes.push_back(static_cast<std::uint8_t>(size >> shift));
    }
  }
  bytes.insert(bytes.end(), numbers.begin(), numbers.end());
  return bytes;
}

/// Opens what cannot be opened: UsageError in one line with these parts.
inline void expect_refused(
    const fs::path& path,
    Split split,
    const std::vector<std::string>& parts) {
  try {
    (void)open_dataset(path, split);
    ADD_FAILURE() << path << " was opened, expected: " << parts.front();
  } catch (const UsageError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.find(path.string()), 0U) << message;
    for (const std::string& part : parts) {
      EXPECT_NE(message.find(part), std::string::npos)
          << message << "\nlacks: " << part;
    }
  }
}

}  // namespace barlow::data
