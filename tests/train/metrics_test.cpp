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

TEST(MetricsLog, IsReadableWhileItIsWritten) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "metrics.jsonl";
  MetricsLog log(path, 0);
  log.append({.step = 1});
  EXPECT_EQ(lines_of(path).size(), 1U);
}

}  // namespace
}  // namespace barlow::train
