// The bits of a float, or of Eight of them, as integers: one generic function states the arithmetic of both.
// SPDX-License-Identifier: MIT

#pragma once

#include "kernels/rounding.h"

namespace vitis {
namespace VITIS_ISA {

inline int32_t BitsOf(float x) { return BitCast<int32_t>(x); }
inline float FloatOf(int32_t bits) { return BitCast<float>(bits); }
inline int32_t Larger(int32_t a, int32_t b) { return a > b ? a : b; }
inline int32_t Smaller(int32_t a, int32_t b) { return a < b ? a : b; }
// All ones where it is so, otherwise zero.
inline int32_t IfEqual(float a, float b) { return a == b ? -1 : 0; }

#if VITIS_HAS_AVX2
struct EightInts {
  __m256i v;

  EightInts(__m256i eight) : v(eight) {}
  EightInts(int32_t each) : v(_mm256_set1_epi32(each)) {}
  friend EightInts operator+(EightInts a, EightInts b) { return _mm256_add_epi32(a.v, b.v); }
  friend EightInts operator-(EightInts a, EightInts b) { return _mm256_sub_epi32(a.v, b.v); }
  friend EightInts operator&(EightInts a, EightInts b) { return _mm256_and_si256(a.v, b.v); }
  friend EightInts operator|(EightInts a, EightInts b) { return _mm256_or_si256(a.v, b.v); }
};
inline EightInts BitsOf(Eight x) { return _mm256_castps_si256(x.v); }
inline Eight FloatOf(EightInts bits) { return _mm256_castsi256_ps(bits.v); }
inline EightInts Larger(EightInts a, EightInts b) { return _mm256_max_epi32(a.v, b.v); }
inline EightInts Smaller(EightInts a, EightInts b) { return _mm256_min_epi32(a.v, b.v); }
inline EightInts SmallerUnsigned(EightInts a, EightInts b) { return _mm256_min_epu32(a.v, b.v); }
inline EightInts IfEqual(Eight a, Eight b) { return _mm256_castps_si256(_mm256_cmp_ps(a.v, b.v, _CMP_EQ_OQ)); }
inline bool AnyPositive(EightInts a) {
  const EightInts positive = _mm256_cmpgt_epi32(a.v, _mm256_setzero_si256());
  return _mm256_testz_si256(positive.v, positive.v) == 0;
}

// Every lane the largest of its pair; of its four, where both pairs are known; of all eight.
inline EightInts OfPair(EightInts a) { return Larger(a, _mm256_shuffle_epi32(a.v, 0xb1)); }
inline EightInts OfFour(EightInts a) { return Larger(a, _mm256_shuffle_epi32(a.v, 0x4e)); }
inline EightInts OfEight(EightInts a) { return Larger(a, _mm256_permute2x128_si256(a.v, a.v, 1)); }
#endif

}  // namespace VITIS_ISA
}  // namespace vitis
