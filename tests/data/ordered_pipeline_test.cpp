// SPDX-License-Identifier: MIT

#include "data/ordered_pipeline.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/core/random.h"

namespace barlow::data::detail {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Script {
  std::int64_t batches = 5;
  std::function<std::int64_t(std::int64_t batch)> items = [](std::int64_t) {
    return 6;
  };
  std::function<void(std::int64_t batch)> on_open = [](std::int64_t) {
  };
  std::function<void(std::int64_t batch, std::int64_t item)> on_fill =
      [](std::int64_t, std::int64_t) {
      };
};

struct NumberBatch {
  std::int64_t index;
  Numbers numbers;
};

/// Item i of batch b is 1000 b + i.
class ScriptedMaker final : public BatchMaker<NumberBatch> {
 public:
  explicit ScriptedMaker(Script script) : script_(std::move(script)) {}

  std::optional<NumberBatch> open() override {
    script_.on_open(next_);
    if (next_ == script_.batches) {
      return std::nullopt;
    }
    const auto items = static_cast<std::size_t>(script_.items(next_));
    return NumberBatch{.index = next_++, .numbers = Numbers(items, -1)};
  }

  [[nodiscard]] std::int64_t items(const NumberBatch& batch) const override {
    return std::ssize(batch.numbers);
  }

  void fill(NumberBatch& batch, std::int64_t item) const override {
    script_.on_fill(batch.index, item);
    batch.numbers[static_cast<std::size_t>(item)] = 1000 * batch.index + item;
  }

 private:
  Script script_;
  std::int64_t next_ = 0;
};

using Pipeline = OrderedPipeline<NumberBatch>;

std::unique_ptr<ScriptedMaker> make(const Script& script) {
  return std::make_unique<ScriptedMaker>(script);
}

/// Everything that comes, batches ended by -1 and an error by its text.
std::string transcript(const Script& script, const PipelineOptions& options) {
  Pipeline pipeline(make(script), options);
  std::string text;
  try {
    while (const auto batch = pipeline.next()) {
      for (const std::int64_t number : batch->numbers) {
        text += std::to_string(number) + ' ';
      }
      text += "| ";
    }
    EXPECT_FALSE(pipeline.next().has_value()) << "the end stays the end";
  } catch (const std::runtime_error& error) {
    text += error.what();
    EXPECT_THROW(pipeline.next(), std::runtime_error) << "errors stay";
  }
  return text;
}

std::vector<PipelineOptions> all_options() {
  std::vector<PipelineOptions> options;
  for (const int workers : {0, 1, 2, 5}) {
    for (const int window : {1, 2, 7}) {
      for (const std::int64_t chunk : {1, 4, 100}) {
        options.push_back(
            {.workers = workers, .window = window, .chunk = chunk});
      }
    }
  }
  return options;
}

/// Work of 0 to 100 us that depends on the item, to shuffle the threads.
void dawdle(std::int64_t batch, std::int64_t item) {
  RandomStream stream(
      {.epoch = static_cast<std::uint64_t>(batch),
       .image = static_cast<std::uint64_t>(item)});
  std::this_thread::sleep_for(std::chrono::microseconds(stream.integer(100)));
}

TEST(OrderedPipeline, GivesTheSameForAnyWorkersWindowAndChunk) {
  Script script{.batches = 9, .on_fill = dawdle};
  script.items = [](std::int64_t batch) {
    return batch * 5 % 8;
  };
  const std::string expected =
      transcript(script, {.workers = 0, .window = 1, .chunk = 1});
  EXPECT_EQ(expected.substr(0, 16), "| 1000 1001 1002");
  for (const PipelineOptions& options : all_options()) {
    EXPECT_EQ(transcript(script, options), expected)
        << options.workers << " workers, window " << options.window
        << ", chunk " << options.chunk;
  }
}

TEST(OrderedPipeline, ThrowsTheFirstErrorInOrder) {
  Script script;
  script.on_fill = [](std::int64_t batch, std::int64_t item) {
    // The later the item the sooner it fails.
    const bool fails = (batch == 2 && item >= 2) || batch > 2;
    if (!fails) {
      return dawdle(batch, item);
    }
    if (batch == 2) {
      std::this_thread::sleep_for(std::chrono::microseconds(300 / item));
    }
    throw std::runtime_error(std::to_string(batch * 10 + item));
  };
  for (const PipelineOptions& options : all_options()) {
    EXPECT_EQ(
        transcript(script, options),
        "0 1 2 3 4 5 | 1000 1001 1002 1003 1004 1005 | 22");
  }
}

TEST(OrderedPipeline, ThrowsAnErrorOfOpeningInItsPlace) {
  Script script{.items = [](std::int64_t) {
    return 1;
  }};
  script.on_open = [](std::int64_t batch) {
    if (batch == 2) {
      throw std::runtime_error("no memory");
    }
  };
  for (const PipelineOptions& options : all_options()) {
    EXPECT_EQ(transcript(script, options), "0 | 1000 | no memory");
  }
}

TEST(OrderedPipeline, KeepsNoMoreBatchesThanItsWindow) {
  for (const int workers : {1, 4}) {
    std::atomic<std::int64_t> opened{0};
    std::atomic<std::int64_t> asked{0};
    std::atomic<std::int64_t> most_ahead{0};
    Script script{.batches = 60, .on_fill = dawdle};
    script.on_open = [&](std::int64_t) {
      most_ahead = std::max<std::int64_t>(most_ahead, ++opened - asked);
    };
    Pipeline pipeline(make(script), {.workers = workers, .window = 3});
    for (int i = 0; i < 60; ++i) {
      ++asked;  // next() frees its place before it returns
      ASSERT_TRUE(pipeline.next().has_value());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    EXPECT_LE(most_ahead, 3);
  }
}

TEST(OrderedPipeline, FillsTheOldestBatchWithAllWorkers) {
  // Both items of a batch wait for each other, so one worker a batch hangs.
  std::array<std::atomic<int>, 4> arrived{};
  Script script{.batches = 4, .items = [](std::int64_t) {
                  return 2;
                }};
  script.on_open = [](std::int64_t) {
    // Long enough for the other worker to run out of work and fall asleep.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  script.on_fill = [&](std::int64_t batch, std::int64_t) {
    auto& here = arrived[static_cast<std::size_t>(batch)];
    ++here;
    while (here < 2) {
      std::this_thread::yield();
    }
  };
  const std::string text = transcript(script, {.workers = 2, .window = 4});
  EXPECT_EQ(text, "0 1 | 1000 1001 | 2000 2001 | 3000 3001 | ");
}

TEST(OrderedPipeline, EndsAtAnyMoment) {
  for (int i = 0; i < 50; ++i) {
    Script script{.batches = 1000, .on_fill = dawdle};
    Pipeline pipeline(make(script), {.workers = 4, .window = 3});
    for (int taken = 0; taken < i % 5; ++taken) {
      ASSERT_TRUE(pipeline.next().has_value());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(i * 20));
  }
}

}  // namespace
}  // namespace barlow::data::detail
