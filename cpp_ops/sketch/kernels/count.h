// The loops of the sketch that exist once per instruction set.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>
#include <cstdint>

namespace vitis {

// Partial sums of squares, by index modulo kLanes. A multiple of every vector width, so no width changes a sum.
inline constexpr size_t kLanes = 32;

// Values that stay in the first-level cache between the two loops.
inline constexpr size_t kBlock = 1024;

// A bin is one 64-bit word. Each value adds kOne + its pattern: with K = kOne + (key << kLowBits), the part of the
// pattern that all values of a bin share, word = n K + sum(low), and sum(low) < K as long as n < 2^25.
inline constexpr int kLowBits = 15;
inline constexpr uint64_t kOne = uint64_t{1} << 40;
inline constexpr size_t kKeys = size_t{1} << (32 - kLowBits);
inline constexpr uint32_t kInfinite = 0x7f800000;  // patterns of Inf and NaN are not below it

struct Scan {
  double squares[kLanes] = {};
  int32_t least = INT32_MAX;     // as OrderOf
  int32_t greatest = INT32_MIN;  // as OrderOf
  uint32_t lowest = UINT32_MAX;  // least magnitude that is not zero, as LowOf
};

// Floats order as these integers do; the map is its own inverse.
static inline int32_t OrderOf(int32_t pattern) { return pattern ^ ((pattern >> 31) & 0x7fffffff); }

// The pattern without its sign, doubled and less one, so that zeros come last.
static inline uint32_t LowOf(uint32_t pattern) { return 2 * pattern - 1; }

struct CountKernels {
  // `count` is a positive multiple of kLanes. False if there was an Inf or NaN; the extremes then mean nothing.
  bool (*scan)(const float* x, size_t count, Scan* scan);
  // `count` is at most kBlock.
  void (*count)(const float* x, size_t count, uint64_t* table);
};

namespace baseline {
extern const CountKernels kCountKernels;
}
namespace avx2 {
extern const CountKernels kCountKernels;
}
namespace avx512 {
extern const CountKernels kCountKernels;
}

}  // namespace vitis
