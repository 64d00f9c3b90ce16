// SPDX-License-Identifier: MIT

#include "barlow/core/text.h"

#include <gtest/gtest.h>

namespace barlow {
namespace {

TEST(NearestName, FindsASlipOfTheKeyboard) {
  const std::vector<std::string> keys{"batch_size", "epochs", "seed"};
  EXPECT_EQ(nearest_name("batchsize", keys), "batch_size");
  EXPECT_EQ(nearest_name("epoch", keys), "epochs");
}

TEST(NearestName, IsEmptyWhenNothingIsNear) {
  EXPECT_EQ(nearest_name("temperature", {"epochs", "seed"}), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(FormatBytes, ChoosesTheUnit) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(256.0 * 1024 * 1024), "256.0 MiB");
}

TEST(FormatDuration, ChoosesTheUnit) {
  EXPECT_EQ(format_duration(59.4), "59 s");
  EXPECT_EQ(format_duration(61), "1 min 01 s");
  EXPECT_EQ(format_duration(3600 * 26 + 125), "26 h 02 min");
}

}  // namespace
}  // namespace barlow
