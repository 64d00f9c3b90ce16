// SPDX-License-Identifier: MIT
//
// Both loaders on real pictures: Fashion-MNIST from Debian's package
// dataset-fashion-mnist, where it is installed.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "barlow/data/dataset.h"
#include "barlow/data/eval_loader.h"
#include "barlow/data/loader.h"
#include "data/synthetic_dataset.h"

namespace barlow::data {
namespace {

constexpr const char* kFashionMnist = "/usr/share/datasets/fashion-mnist";

class LoadersOnFashionMnist : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFashionMnist)) {
      GTEST_SKIP() << kFashionMnist << " is not installed";
    }
    dataset_ = open_dataset(kFashionMnist, Split::kTest);
  }

  std::unique_ptr<Dataset> dataset_;
};

TEST_F(LoadersOnFashionMnist, TwoViewsAreTheSameForOneAndFourWorkers) {
  TwoViewLoaderOptions options{.global_batch_size = 512, .channels = 1};
  options.view_a.size = 28;
  options.view_b.size = 28;
  options.normalization = {.mean = {0.286F}, .stddev = {0.353F}};
  std::vector<TwoViewBatch> expected;
  for (const int workers : {1, 4}) {
    options.workers = workers;
    TwoViewLoader loader(*dataset_, options);
    ASSERT_EQ(loader.steps_per_epoch(), 19);
    loader.start(17);  // over the end of an epoch
    for (std::size_t i = 0; i < 4; ++i) {
      const TwoViewBatch batch = loader.next();
      if (workers == 1) {
        expected.push_back(batch);
        continue;
      }
      EXPECT_EQ(batch.images, expected[i].images);
      EXPECT_TRUE(test::same_bytes(batch.view_a, expected[i].view_a));
      EXPECT_TRUE(test::same_bytes(batch.view_b, expected[i].view_b));
    }
  }
}

TEST_F(LoadersOnFashionMnist, EvaluationGivesThePixelsOfTheFiles) {
  EvalLoader loader(
      *dataset_,
      {.batch_size = 300,
       .channels = 1,
       .resize_px = 28,
       .crop_px = 28,
       .normalization = {.mean = {0}, .stddev = {1}}});
  std::int64_t first = 0;
  while (const auto batch = loader.next()) {
    const torch::Tensor pixels =
        batch->images.mul(255).round().to(torch::kUInt8).contiguous();
    const std::int64_t rows = pixels.size(0);
    for (std::int64_t i = 0; i < rows; ++i) {
      const Image image = dataset_->load(first + i);
      const auto* row = pixels.data_ptr<std::uint8_t>() + i * 28 * 28;
      ASSERT_EQ(std::vector<std::uint8_t>(row, row + 28 * 28), image.pixels)
          << "image " << first + i;
      ASSERT_EQ(
          batch->labels[i].item<std::int64_t>(),
          dataset_->label(first + i));
    }
    first += rows;
  }
  EXPECT_EQ(first, 10000);
  EXPECT_EQ(loader.size(), 10000);
}

}  // namespace
}  // namespace barlow::data
