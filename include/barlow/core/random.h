// SPDX-License-Identifier: MIT
//
// Counter-based random numbers.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel Random Numbers:
// As Easy as 1, 2, 3", SC 2011. Every random decision of barlow is a pure
// function of (seed, purpose, epoch, image, view): there is no generator to
// share, so neither threads nor ranks nor a resume can change a draw. The
// standard library's distributions are not used, since their algorithms, and so
// the numbers, differ between implementations.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace barlow {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox-4x32 with 10 rounds: a bijection of the counter for each key.
/// Equal to the published known-answer vectors (tests/core/random_test.cpp).
[[nodiscard]] PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key);

/// What a stream is for. Values are part of the format of a run: a value is
/// never reused or renumbered, or old checkpoints would continue differently.
enum class StreamPurpose : std::uint8_t {
  kEpochOrder = 1,
  kAugmentation = 2,
  kParameterInit = 3,
  kSplit = 4,
  kTest = 255,
};

/// Names one stream. Two different keys never share a number.
struct StreamKey {
  std::uint64_t seed = 0;
  StreamPurpose purpose = StreamPurpose::kTest;
  std::uint64_t epoch = 0;  ///< below 2^32
  std::uint64_t image = 0;  ///< below 2^48
  std::uint8_t view = 0;
};

/// An endless sequence of numbers, the same for the same key on every platform.
///
/// Thread-compatible. Each stream holds 2^34 32-bit numbers before it wraps.
class RandomStream {
 public:
  /// Throws std::out_of_range if epoch or image is beyond its range.
  explicit RandomStream(const StreamKey& key);

  std::uint32_t next_u32();
  std::uint64_t next_u64();

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();

  /// Uniform in [low, high); `low` if the two are equal.
  double uniform(double low, double high);

  /// True with probability p; draws one number whatever p is.
  bool bernoulli(double p) { return uniform() < p; }

  /// Standard normal by the Box-Muller transform; two uniforms a call.
  double normal();

  /// Uniform in {0, ..., bound - 1}, without modulo bias. bound >= 1.
  std::uint64_t integer(std::uint64_t bound);

  /// A uniform permutation of 0 .. size - 1 (Fisher-Yates). size >= 0.
  std::vector<std::int64_t> permutation(std::int64_t size);

 private:
  PhiloxKey key_;
  PhiloxCounter counter_;
  PhiloxCounter block_{};
  int used_ = 4;  // numbers of block_ already given out
};

}  // namespace barlow
