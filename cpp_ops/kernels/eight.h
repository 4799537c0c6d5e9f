// Eight floats in an AVX2 register, with float's operators: one generic lambda states the arithmetic of both.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)  // MSVC has no __F16C__; every AVX2 processor has F16C
#include <immintrin.h>
#define VITIS_HAS_AVX2 1
#endif

// For what is in a loop whose constants must stay in registers: a call would have them loaded again.
#if defined(_MSC_VER)
#define VITIS_ALWAYS_INLINE __forceinline
#else
#define VITIS_ALWAYS_INLINE __attribute__((always_inline)) inline
#endif

namespace vitis {
namespace VITIS_ISA {

// The second operand where the first is NaN, as the processor's instructions have it.
inline float Max(float a, float b) { return a > b ? a : b; }
inline float Min(float a, float b) { return a < b ? a : b; }

// a b + c and c - a b, rounded once. Called only where kHasFma.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline constexpr bool kHasFma = true;
inline float MultiplyAdd(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float MultiplySubtract(float a, float b, float c) { return __builtin_fmaf(-a, b, c); }
#else
inline constexpr bool kHasFma = false;
#endif

#if VITIS_HAS_AVX2
struct Eight {
  __m256 v;

  Eight(__m256 eight) : v(eight) {}
  Eight(float each) : v(_mm256_set1_ps(each)) {}
  friend Eight operator+(Eight a, Eight b) { return _mm256_add_ps(a.v, b.v); }
  friend Eight operator-(Eight a, Eight b) { return _mm256_sub_ps(a.v, b.v); }
  friend Eight operator*(Eight a, Eight b) { return _mm256_mul_ps(a.v, b.v); }
  friend Eight operator/(Eight a, Eight b) { return _mm256_div_ps(a.v, b.v); }
};
inline Eight Load(const float* x) { return _mm256_loadu_ps(x); }
inline void Store(float* y, Eight value) { _mm256_storeu_ps(y, value.v); }
inline Eight Max(Eight a, Eight b) { return _mm256_max_ps(a.v, b.v); }
inline Eight Min(Eight a, Eight b) { return _mm256_min_ps(a.v, b.v); }
#if defined(__FMA__)
inline Eight MultiplyAdd(Eight a, Eight b, Eight c) { return _mm256_fmadd_ps(a.v, b.v, c.v); }
inline Eight MultiplySubtract(Eight a, Eight b, Eight c) { return _mm256_fnmadd_ps(a.v, b.v, c.v); }
#endif
#endif

// Calls body(i) so that the groups of kGroup elements from every i on cover [0, count); the last one may overlap the
// one before it. Groups of four quarters take turns: one stream alone does not keep the memory busy when a tensor is
// too large for the caches. False, and nothing is done, if there is not one whole group.
template <size_t kGroup, class Body>
bool ForEachGroup(size_t count, Body body) {
  if (count < kGroup) return false;
  const size_t quarter = count / (4 * kGroup) * kGroup;
  for (size_t i = 0; i < quarter; i += kGroup) {
    body(i);
    body(quarter + i);
    body(2 * quarter + i);
    body(3 * quarter + i);
  }
  for (size_t i = 4 * quarter; i + kGroup <= count; i += kGroup) body(i);
  if (count % kGroup != 0) body(count - kGroup);
  return true;
}

}  // namespace VITIS_ISA
}  // namespace vitis
