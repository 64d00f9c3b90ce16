// SPDX-License-Identifier: MIT

#include "barlow/core/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace barlow {
namespace {

// Multipliers and key increments of the paper, table 2 and section 4.3: the
// increments are the golden ratio and sqrt(3) - 1 in 32-bit fixed point.
constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

constexpr std::uint32_t high_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x >> 32);
}
constexpr std::uint32_t low_word(std::uint64_t x) {
  return static_cast<std::uint32_t>(x);
}

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * counter[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * counter[2];
    counter = {
        high_word(p1) ^ counter[1] ^ key[0],
        low_word(p1),
        high_word(p0) ^ counter[3] ^ key[1],
        low_word(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// The counter's words: block number; image, low 32 bits; epoch; image, high 16
// bits, beside purpose and view. The packing is injective within the ranges.
RandomStream::RandomStream(const StreamKey& key)
    : key_{low_word(key.seed), high_word(key.seed)} {
  if (key.epoch >> 32 != 0) {
    throw std::out_of_range("RandomStream: epoch must be below 2^32");
  }
  if (key.image >> 48 != 0) {
    throw std::out_of_range("RandomStream: image must be below 2^48");
  }
  counter_ = {
      0,
      low_word(key.image),
      low_word(key.epoch),
      high_word(key.image) << 16 |
          static_cast<std::uint32_t>(key.purpose) << 8 | key.view};
}

std::uint32_t RandomStream::next_u32() {
  if (used_ == 4) {
    block_ = philox4x32(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

std::uint64_t RandomStream::next_u64() {
  const std::uint64_t low = next_u32();
  return std::uint64_t{next_u32()} << 32 | low;
}

double RandomStream::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

double RandomStream::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t RandomStream::integer(std::uint64_t bound) {
  if (bound == 0) {
    throw std::out_of_range("RandomStream::integer: bound must be at least 1");
  }
  // Values at or above the largest multiple of bound are drawn again.
  const std::uint64_t excess = (UINT64_MAX % bound + 1) % bound;
  std::uint64_t x = next_u64();
  while (x > UINT64_MAX - excess) {
    x = next_u64();
  }
  return x % bound;
}

std::vector<std::int64_t> RandomStream::permutation(std::int64_t size) {
  if (size < 0) {
    throw std::out_of_range("RandomStream::permutation: size must be >= 0");
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(integer(i))]);
  }
  return order;
}

}  // namespace barlow
