// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>

#include "barlow/commands.h"
#include "barlow/core/error.h"
#include "barlow/core/random.h"
#include "barlow/data/augment.h"
#include "barlow/data/dataset.h"
#include "barlow/data/decode.h"
#include "barlow/data/encode.h"
#include "barlow/flag_checks.h"
#include "barlow/recipe_flags.h"

namespace barlow::app {
namespace {

constexpr const char* kDescription =
    "Draw what the augmentation of a recipe does, as a picture: one row an "
    "image, the image itself first, then pairs of views A and B as epochs 0, "
    "1, "
    "... of a run see them.";

// Tiles are enlarged to at least this side, so that 28 px images can be seen.
constexpr int kMinTile = 96;
constexpr int kGap = 4;
constexpr int kWideGap = 12;  // between the image and its views, and the pairs

struct ViewsArguments {
  std::string data;
  std::string out;
  RecipeFlags recipe;
  std::int64_t images = 6;
  std::int64_t pairs = 3;
};

void paste(
    data::Image& sheet,
    const data::Image& tile,
    int left,
    int top,
    int factor) {
  for (int y = 0; y < tile.height * factor; ++y) {
    std::uint8_t* to = sheet.row(top + y) + 3 * static_cast<std::size_t>(left);
    const std::uint8_t* from = tile.row(y / factor);
    for (int x = 0; x < tile.width * factor; ++x) {
      for (int c = 0; c < 3; ++c) {
        const int channel = tile.channels == 3 ? c : 0;
        *to++ = from[x / factor * tile.channels + channel];
      }
    }
  }
}

class Sheet {
 public:
  Sheet(int tile, int rows, int pairs)
      : side_(std::max(tile, kMinTile)),
        sheet_(
            kGap + side_ + pairs * (kWideGap + 2 * side_ + kGap) + kGap,
            kGap + rows * (side_ + kGap),
            3) {
    std::fill(sheet_.pixels.begin(), sheet_.pixels.end(), 255);
  }

  // `column` 0 is the image, 1 + 2 p and 2 + 2 p the views of pair p.
  void add(const data::Image& tile, int row, int column) {
    const int factor = std::max(1, side_ / tile.width);
    const int pair = (column + 1) / 2;
    const int left = kGap + column * (side_ + kGap) + pair * (kWideGap - kGap) +
                     (side_ - factor * tile.width) / 2;
    const int top =
        kGap + row * (side_ + kGap) + (side_ - factor * tile.height) / 2;
    paste(sheet_, tile, left, top, factor);
  }

  [[nodiscard]] const data::Image& image() const { return sheet_; }

 private:
  int side_;
  data::Image sheet_;
};

void check_sheet(int rows, int pairs, int tile) {
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
  const std::int64_t side = std::max(tile, kMinTile);
  if (rows * (1 + 2 * std::int64_t{pairs}) * side * side > kMostPixels) {
    fail<UsageError>(
        "--images, --pairs: found ",
        rows,
        " rows of ",
        1 + 2 * pairs,
        " tiles of ",
        side,
        " px, expected at most 2^28 pixels in all");
  }
}

int views(const ViewsArguments& arguments) {
  const train::Recipe recipe = arguments.recipe.resolve({});
  const auto dataset = data::open_dataset(arguments.data, data::Split::kTrain);
  const auto rows =
      static_cast<int>(std::min(arguments.images, dataset->size()));
  const auto pairs = static_cast<int>(arguments.pairs);
  const int tile = std::max(recipe.view_a.size, recipe.view_b.size);
  check_sheet(rows, pairs, tile);
  Sheet sheet(tile, rows, pairs);
  for (int row = 0; row < rows; ++row) {
    const data::Image image = data::to_channels(
        dataset->load(row),
        static_cast<int>(recipe.channels));
    sheet.add(data::evaluation_view(image, tile, tile), row, 0);
    for (int column = 1; column <= 2 * pairs; ++column) {
      const int view = (column - 1) % 2;
      RandomStream stream(
          {.seed = recipe.seed,
           .purpose = StreamPurpose::kAugmentation,
           .epoch = static_cast<std::uint64_t>((column - 1) / 2),
           .image = static_cast<std::uint64_t>(row),
           .view = static_cast<std::uint8_t>(view)});
      const data::ViewOptions& options =
          view == 0 ? recipe.view_a : recipe.view_b;
      const data::ViewDraws draws =
          data::draw_view(options, image.width, image.height, stream);
      sheet.add(data::augment(image, options, draws), row, column);
    }
  }
  data::write_png(arguments.out, sheet.image());
  std::cout << arguments.out << ": " << rows << " images, " << pairs
            << " pairs of views each" << std::endl;
  return kExitDone;
}

}  // namespace

void add_views(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("views", kDescription);
  auto arguments = std::make_shared<ViewsArguments>();
  command->add_option("DATA", arguments->data, "the images")->required();
  command->add_option("-o,--out", arguments->out, "the picture to write")
      ->type_name("PNG")
      ->check(not_empty())
      ->check(ends_with(".png"))
      ->required();
  command->add_option("--images", arguments->images, "rows of the picture")
      ->check(in_range(1, 100))
      ->capture_default_str();
  command->add_option("--pairs", arguments->pairs, "pairs of views a row")
      ->check(in_range(1, 100))
      ->capture_default_str();
  arguments->recipe.add_to(*command, KeyFlags::kAll);
  command->callback([arguments, &action] {
    action = [arguments] {
      return views(*arguments);
    };
  });
}

}  // namespace barlow::app
