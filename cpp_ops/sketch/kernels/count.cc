// One copy of the sketch's loops; CMake compiles this file once per instruction set, with VITIS_ISA as its namespace.
// SPDX-License-Identifier: MIT

#include "sketch/kernels/count.h"

#include <cstring>
#include <limits>

#include "kernels/eight.h"

namespace vitis {
namespace VITIS_ISA {

static uint32_t PatternOf(const float* value) {
  uint32_t pattern;
  std::memcpy(&pattern, value, sizeof(pattern));
  return pattern;
}

static int32_t OrderOf(float value) { return vitis::OrderOf(static_cast<int32_t>(PatternOf(&value))); }

#if VITIS_HAS_AVX2
// The positions of the bits that are set in each byte.
struct SetBits {
  uint8_t of[256][8] = {};
  constexpr SetBits() {
    for (int byte = 0; byte < 256; ++byte) {
      int n = 0;
      for (int bit = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) of[byte][n++] = static_cast<uint8_t>(bit);
      }
    }
  }
};
static constexpr SetBits kSetBits;

// The square of a float is exact in double, so that adding it with or without FMA is the same.
static __m256d AddSquares(__m128 x, __m256d sum) {
  const __m256d value = _mm256_cvtps_pd(x);
#if defined(__FMA__)
  return _mm256_fmadd_pd(value, value, sum);
#else
  return _mm256_add_pd(sum, _mm256_mul_pd(value, value));
#endif
}

static bool ScanBlock(const float* x, size_t count, Scan* scan) {
  constexpr size_t kSums = kLanes / 4;
  __m256d squares[kSums];
  for (size_t k = 0; k < kSums; ++k) squares[k] = _mm256_loadu_pd(scan->squares + 4 * k);
  Eight least = x[0];
  Eight greatest = x[0];
  __m256i lowest = _mm256_set1_epi32(-1);
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t k = 0; k < kSums; k += 2) {
      const float* eight = x + i + 4 * k;
      least = Min(Load(eight), least);
      greatest = Max(Load(eight), greatest);
      const __m256i pattern = _mm256_castps_si256(Load(eight).v);
      lowest = _mm256_min_epu32(lowest, _mm256_sub_epi32(_mm256_add_epi32(pattern, pattern), _mm256_set1_epi32(1)));
      squares[k] = AddSquares(_mm_loadu_ps(eight), squares[k]);
      squares[k + 1] = AddSquares(_mm_loadu_ps(eight + 4), squares[k + 1]);
    }
  }
  __m256d sum = _mm256_setzero_pd();
  for (size_t k = 0; k < kSums; ++k) {
    _mm256_storeu_pd(scan->squares + 4 * k, squares[k]);
    sum = _mm256_add_pd(sum, squares[k]);
  }
  float extremes[2][8];
  Store(extremes[0], least);
  Store(extremes[1], greatest);
  uint32_t lows[8];
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(lows), lowest);
  for (size_t k = 0; k < 8; ++k) {
    const int32_t low = OrderOf(extremes[0][k]);
    const int32_t high = OrderOf(extremes[1][k]);
    scan->least = low < scan->least ? low : scan->least;
    scan->greatest = high > scan->greatest ? high : scan->greatest;
    scan->lowest = lows[k] < scan->lowest ? lows[k] : scan->lowest;
  }
  const __m256d infinity = _mm256_set1_pd(std::numeric_limits<double>::infinity());
  return _mm256_movemask_pd(_mm256_cmp_pd(sum, infinity, _CMP_NLT_UQ)) == 0;
}
#else
static bool ScanBlock(const float* __restrict x, size_t count, Scan* scan) {
  int32_t least = scan->least;
  int32_t greatest = scan->greatest;
  uint32_t lowest = scan->lowest;
  for (size_t i = 0; i < count; ++i) {
    const int32_t order = OrderOf(x[i]);
    least = order < least ? order : least;
    greatest = order > greatest ? order : greatest;
    const uint32_t low = LowOf(PatternOf(x + i));
    lowest = low < lowest ? low : lowest;
  }
  scan->least = least;
  scan->greatest = greatest;
  scan->lowest = lowest;

  double squares[kLanes];
  for (size_t lane = 0; lane < kLanes; ++lane) squares[lane] = scan->squares[lane];
  for (size_t i = 0; i < count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = static_cast<double>(x[i + lane]);
      squares[lane] += value * value;
    }
  }
  double sum = 0.0;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    scan->squares[lane] = squares[lane];
    sum += squares[lane];
  }
  return sum < std::numeric_limits<double>::infinity();
}
#endif

static void CountPatterns(const float* __restrict x, size_t count, uint64_t* __restrict table) {
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    uint64_t pair[2];  // two patterns a load
    std::memcpy(pair, x + i, sizeof(pair));
    for (int half = 0; half < 2; ++half) {
      const uint64_t first = pair[half] & 0xffffffff;
      const uint64_t second = pair[half] >> 32;
      table[first >> kLowBits] += kOne + first;
      table[second >> kLowBits] += kOne + second;
    }
  }
  for (; i < count; ++i) {
    const uint32_t pattern = PatternOf(x + i);
    table[pattern >> kLowBits] += kOne + pattern;
  }
}

// Writes what is not 0.0 to `kept` and returns how many that is; up to eight more floats of `kept` may be written.
static size_t KeepNonZero(const float* __restrict x, size_t count, float* __restrict kept) {
  size_t i = 0;
  size_t n = 0;
#if VITIS_HAS_AVX2
  for (; i + 8 <= count; i += 8) {
    const __m256i patterns = _mm256_castps_si256(Load(x + i).v);
    const __m256i zero = _mm256_cmpeq_epi32(patterns, _mm256_setzero_si256());
    const int mask = _mm256_movemask_ps(_mm256_castsi256_ps(zero)) ^ 0xff;
    const __m128i lanes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kSetBits.of[mask]));
    const __m256i packed = _mm256_permutevar8x32_epi32(patterns, _mm256_cvtepu8_epi32(lanes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(kept + n), packed);
    n += static_cast<size_t>(_mm_popcnt_u32(static_cast<unsigned>(mask)));
  }
#endif
  for (; i < count; ++i) {
    kept[n] = x[i];
    n += PatternOf(x + i) != 0;
  }
  return n;
}

// A processor that adds to a word guesses whether it was just added to, and pays for wrong guesses. A value that is
// often and irregularly there makes them: the zeros after a Relu, which are therefore counted apart where a sample of
// the block has many.
static void CountBlock(const float* x, size_t count, uint64_t* table) {
  constexpr size_t kSample = 64;
  size_t zeros = 0;
  for (size_t i = 0; i < kSample && i < count; ++i) zeros += PatternOf(x + i) == 0;
  if (zeros < kSample / 8) {
    CountPatterns(x, count, table);
    return;
  }
  float kept[kBlock + 8];
  const size_t rest = KeepNonZero(x, count, kept);
  table[0] += (count - rest) * kOne;
  CountPatterns(kept, rest, table);
}

extern const CountKernels kCountKernels = {ScanBlock, CountBlock};

}  // namespace VITIS_ISA
}  // namespace vitis
