// SPDX-License-Identifier: MIT
//
// What the tests of TwoViewLoader share.

#pragma once

#include "barlow/data/loader.h"

namespace barlow::test {

/// Batches of 4, seed 11, the rest kept; views of 12 and 9 px.
inline data::TwoViewLoaderOptions small_options() {
  data::TwoViewLoaderOptions options{
      .global_batch_size = 4,
      .seed = 11,
      .on_partial_batch = data::OnPartialBatch::kKeep};
  options.view_a.size = 12;
  options.view_b.size = 9;
  options.view_b.solarize_probability = 0.2;
  return options;
}

}  // namespace barlow::test
