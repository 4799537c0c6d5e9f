// One copy of the sketch's loops; CMake compiles this file once per instruction set, with VITIS_ISA as its namespace.
// SPDX-License-Identifier: MIT

#include "sketch/kernels/count.h"

#include <cstring>

namespace vitis {
namespace VITIS_ISA {

static void ScanBlock(const float* __restrict x, size_t count, Scan* scan) {
  int32_t least = scan->least;
  int32_t greatest = scan->greatest;
  int32_t magnitude = static_cast<int32_t>(scan->magnitude);
  for (size_t i = 0; i < count; ++i) {
    int32_t pattern;
    std::memcpy(&pattern, x + i, sizeof(pattern));
    const int32_t order = pattern ^ ((pattern >> 31) & 0x7fffffff);
    const int32_t unsigned_pattern = pattern & 0x7fffffff;
    least = order < least ? order : least;
    greatest = order > greatest ? order : greatest;
    magnitude = unsigned_pattern > magnitude ? unsigned_pattern : magnitude;
  }
  scan->least = least;
  scan->greatest = greatest;
  scan->magnitude = static_cast<uint32_t>(magnitude);

  double squares[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) squares[lane] = scan->squares[lane];
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(x[i + lane]);
      squares[lane] += value * value;
    }
  }
  for (size_t lane = 0; lane < kLanes; ++lane) scan->squares[lane] = squares[lane];
}

static void CountBlock(const float* __restrict x, size_t count, uint64_t* __restrict even, uint64_t* __restrict odd) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    uint64_t pair[2];  // two patterns a load
    std::memcpy(pair, x + i, sizeof(pair));
    for (int half = 0; half < 2; ++half) {
      const uint64_t first = pair[half] & 0xffffffff;
      const uint64_t second = pair[half] >> 32;
      even[first >> kLowBits] += kOne + first;
      odd[second >> kLowBits] += kOne + second;
    }
  }
  for (; i < count; ++i) {
    uint32_t pattern;
    std::memcpy(&pattern, x + i, sizeof(pattern));
    even[pattern >> kLowBits] += kOne + pattern;
  }
}

extern const CountKernels kCountKernels = {ScanBlock, CountBlock};

}  // namespace VITIS_ISA
}  // namespace vitis
