// SPDX-License-Identifier: MIT

#include "barlow/train/metrics.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/tensors.h"

namespace barlow::train {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(stream, line)) {
    lines.push_back(line);
  }
  return lines;
}

TEST(MetricsLog, DropsLinesAfterTheStepThatTheRunResumesFrom) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  {
    MetricsLog log(path, 0);
    for (std::int64_t step = 1; step <= 5; ++step) {
      log.append({.step = step, .loss = 0.5 * static_cast<double>(step)});
    }
  }
  std::ofstream(path, std::ios::app) << "{\"step\": 6, \"lo";  // cut short
  {
    MetricsLog log(path, 3);
    log.append({.step = 4, .loss = 9});
  }
  const std::vector<std::string> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_NE(lines[2].find("\"loss\":1.5"), std::string::npos);
  EXPECT_NE(lines[3].find("\"loss\":9.0"), std::string::npos);
}

// What a log at `path`, opened after step 2, warns of.
std::vector<std::string> warnings_at(const std::filesystem::path& path) {
  std::vector<std::string> warnings;
  const MetricsLog log(path, 2, [&](const std::string& warning) {
    warnings.push_back(warning);
  });
  return warnings;
}

TEST(MetricsLog, KeepsAGarbledFileAsideAndGoesOnWithTheRest) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  std::ofstream(path) << "{\"step\": 1}\nnonsense\n{\"step\": \"x\"}\n"
                      << "{\"step\": 2}\n{\"step\": 3}\n{\"st";
  const std::vector<std::string> warnings = warnings_at(path);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("line 2"), std::string::npos) << warnings[0];
  EXPECT_EQ(lines_of(path).size(), 2U);
  EXPECT_EQ(lines_of(folder.path() / "metrics.jsonl.old-1").size(), 6U);
  EXPECT_TRUE(warnings_at(path).empty());
}

TEST(MetricsLog, GoesOnWhereTheFileIsMissingOrNoFile) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  ASSERT_EQ(warnings_at(path).size(), 1U);
  EXPECT_TRUE(warnings_at(path).empty());  // made by then
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_NE(warnings_at(path).at(0).find("cannot be read"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST(MetricsLog, IsReadableWhileItIsWritten) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsLog log(path, 0);
  log.append({.step = 1});
  EXPECT_EQ(lines_of(path).size(), 1U);
}

}  // namespace
}  // namespace barlow::train
