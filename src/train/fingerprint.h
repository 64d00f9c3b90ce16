// SPDX-License-Identifier: MIT

#pragma once

#include <string>

#include "barlow/data/dataset.h"

namespace barlow::train {

/// Tells one data set from another without reading all of it: the number of
/// images and a hash of the first, the middle and the last, "60000 images,
/// hash 0123456789abcdef". Independent of where the files lie.
[[nodiscard]] std::string dataset_fingerprint(const data::Dataset& dataset);

}  // namespace barlow::train
