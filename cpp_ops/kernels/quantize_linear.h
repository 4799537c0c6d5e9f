// q = saturate(round(x / scale) + zero_point), rounding half to even.
// SPDX-License-Identifier: MIT
//
// Integers: clamp first, to [min - zp, max - zp]; the bounds are integers, so clamping and rounding commute. NaN goes
// to the minimum, as in MLAS. Adding the zero point before rounding would break ties wrongly where it is odd.
// 16-bit floats: q = round(x / scale - (0 - zp)), which keeps -0.0 where zp is zero; saturating, NaN stays NaN.

#pragma once

#include "kernels/rounding.h"
#include "kernels/walk.h"

namespace vitis {
namespace VITIS_ISA {

// Elements handled per stage: wide values of one stage stay in the first-level cache until the next one narrows them.
inline constexpr size_t kStage = 256;

// 8 and 16 bits fit the mantissa of a float, 32 bits that of a double.
template <class T>
using Wide = std::conditional_t<(sizeof(T) < 4), float, double>;
template <class T>
using WideBits = std::conditional_t<(sizeof(T) < 4), uint32_t, uint64_t>;

template <class T>
inline WideBits<T> RoundedBits(float ratio, Wide<T> low, Wide<T> high) {
  Wide<T> v = ratio;
  v = v > low ? v : low;  // in this order: NaN > low is false
  v = v < high ? v : high;
  if constexpr (sizeof(T) < 4) {
    return BitCast<uint32_t>(v + kMagicFloat);
  } else {
    return BitCast<uint64_t>(v + kMagicDouble);
  }
}

template <class T>
inline constexpr Wide<T> kMin = static_cast<Wide<T>>(std::numeric_limits<T>::min());
template <class T>
inline constexpr Wide<T> kMax = static_cast<Wide<T>>(std::numeric_limits<T>::max());

// bits(i) has the rounded, clamped ratio of element i in its low bits, zero(i) is its zero point.
template <class T, class Bits, class Zero>
void StoreCodes(T* __restrict y, size_t count, Bits bits, Zero zero) {
  using Unsigned = std::make_unsigned_t<T>;
  WideBits<T> wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = bits(first + i);
    for (size_t i = 0; i < n; ++i) {
      // In the narrow type, where more of them fit a register.
      y[first + i] = static_cast<T>(static_cast<Unsigned>(wide[i]) + static_cast<Unsigned>(zero(first + i)));
    }
  }
}

// ratio(i) is x[i] / scale.
template <class T, class Ratio, class Zero>
void QuantizeIntegers(T* y, size_t count, Ratio ratio, Zero zero) {
  const auto bits = [=](size_t i) {
    const auto zp = static_cast<Wide<T>>(zero(i));
    return RoundedBits<T>(ratio(i), kMin<T> - zp, kMax<T> - zp);
  };
  StoreCodes(y, count, bits, zero);
}

#if VITIS_HAS_AVX2
// Whole numbers of [min - zp, max - zp] as a register full of codes.
template <class T>
inline void StoreRegister(T* y, const __m256i (&whole)[4 / sizeof(T)], T zero_point) {
  __m256i codes;
  if constexpr (sizeof(T) == 1) {
    const __m256i zp = _mm256_set1_epi16(zero_point);
    const __m256i first = _mm256_add_epi16(_mm256_packs_epi32(whole[0], whole[1]), zp);
    const __m256i second = _mm256_add_epi16(_mm256_packs_epi32(whole[2], whole[3]), zp);
    codes = std::is_signed_v<T> ? _mm256_packs_epi16(first, second) : _mm256_packus_epi16(first, second);
    codes = _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  } else {
    const __m256i zp = _mm256_set1_epi32(zero_point);
    const __m256i first = _mm256_add_epi32(whole[0], zp);
    const __m256i second = _mm256_add_epi32(whole[1], zp);
    codes = std::is_signed_v<T> ? _mm256_packs_epi32(first, second) : _mm256_packus_epi32(first, second);
    codes = _mm256_permute4x64_epi64(codes, 0xd8);
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), codes);
}
#endif

// ratio(x) is the clamped ratio of a float or of Eight.
template <class T, class Ratio>
void QuantizeUniform(const float* __restrict x, T* __restrict y, size_t count, Ratio ratio, T zero_point) {
#if VITIS_HAS_AVX2
  constexpr size_t kRegisters = 4 / sizeof(T);
  const auto group = [=](size_t i) {
    __m256i whole[kRegisters];
    for (size_t k = 0; k < kRegisters; ++k) whole[k] = _mm256_cvtps_epi32(ratio(Load(x + i + 8 * k)).v);
    StoreRegister(y + i, whole, zero_point);
  };
  if (ForEachGroup<8 * kRegisters>(count, group)) return;
#endif
  StoreCodes(
      y, count, [=](size_t i) { return BitCast<uint32_t>(ratio(x[i]) + kMagicFloat); },
      [=](size_t) { return zero_point; });
}

inline int32_t ToBits(Float16, float value) { return ToFloat16Bits(value); }
inline int32_t ToBits(BFloat16, float value) { return ToBFloat16Bits(value); }

// value(i) is what to round.
template <class T, class Value>
void RoundEach(T* __restrict y, size_t count, Value value) {
  int32_t wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = ToBits(T{}, value(first + i));
    for (size_t i = 0; i < n; ++i) y[first + i].bits = static_cast<uint16_t>(wide[i]);
  }
}

#if VITIS_HAS_AVX2
// Eight values as 16-bit floats, in registers that Join puts together. Overflow gives an infinity.
inline __m128i RoundEight(Float16, Eight value) {
  return _mm256_cvtps_ph(value.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline __m256i Join(__m128i a, __m128i b) { return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1); }

// Adding half of the last place, or a little less where that is even, rounds.
inline __m256i RoundEight(BFloat16, Eight value) {
  const __m256i bits = _mm256_castps_si256(value.v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
}
inline __m256i Join(__m256i a, __m256i b) { return _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8); }

// Infinities become the largest numbers: positive patterns are bounded as signed integers, negative ones as unsigned.
template <class T>
inline __m256i Saturate(__m256i patterns) {
  constexpr int kLargest = std::is_same_v<T, Float16> ? 0x7bff : 0x7f7f;
  patterns = _mm256_min_epi16(patterns, _mm256_set1_epi16(kLargest));
  return _mm256_min_epu16(patterns, _mm256_set1_epi16(static_cast<int16_t>(kLargest | 0x8000)));
}

// The processor would keep part of a NaN's payload; ours is always the same quiet NaN, of either sign.
inline Eight WithQuietNan(Eight value) {
  const __m256 sign = _mm256_and_ps(value.v, _mm256_set1_ps(-0.0f));
  const __m256 quiet = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
  return _mm256_blendv_ps(value.v, quiet, _mm256_cmp_ps(value.v, value.v, _CMP_UNORD_Q));
}

template <class T>
VITIS_ALWAYS_INLINE __m256i RoundSixteen(Eight a, Eight b) {
  if (_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_UNORD_Q)) == 0) {
    return Saturate<T>(Join(RoundEight(T{}, a), RoundEight(T{}, b)));
  }
  constexpr int kInfinity = std::is_same_v<T, Float16> ? 0x7c00 : 0x7f80;
  const __m256i patterns = Join(RoundEight(T{}, WithQuietNan(a)), RoundEight(T{}, WithQuietNan(b)));
  const __m256i magnitudes = _mm256_and_si256(patterns, _mm256_set1_epi16(0x7fff));
  const __m256i nan = _mm256_cmpgt_epi16(magnitudes, _mm256_set1_epi16(kInfinity));
  return _mm256_blendv_epi8(Saturate<T>(patterns), patterns, nan);
}
#endif

#if VITIS_HAS_AVX2
template <class T, class Value>
struct HalfGroup {
  const float* x;
  T* y;
  Value value;

  VITIS_ALWAYS_INLINE void operator()(size_t i) const {
    const __m256i patterns = RoundSixteen<T>(value(Load(x + i)), value(Load(x + i + 8)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), patterns);
  }
};
#endif

// value(x) is what to round for a float or Eight of them.
template <class T, class Value>
void RoundToHalf(const float* __restrict x, T* __restrict y, size_t count, Value value) {
#if VITIS_HAS_AVX2
  if (ForEachGroup<16>(count, HalfGroup<T, Value>{x, y, value})) return;
#endif
  RoundEach(y, count, [=](size_t i) { return value(x[i]); });
}

// value(i) is what to round, computed a stage ahead.
template <class T, class Value>
void RoundStaged(T* y, size_t count, Value value) {
  float wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = value(first + i);
    RoundToHalf(wide, y + first, n, [](auto v) { return v; });
  }
}

inline float ToFloat(Float16 value) { return FromFloat16Bits(value.bits); }
inline float ToFloat(BFloat16 value) { return FromBFloat16(value.bits); }

template <class T>
void QuantizeLinear(const float* x, T* y, const float* scale, const T* zero_point, const AxisView& channels,
                    size_t begin, size_t end) {
  const auto uniform = [=](size_t first, size_t count, size_t channel) {
    const float* __restrict in = x + first;
    T* out = y + first;
    const T zp = zero_point ? zero_point[channel] : T{};
    if constexpr (kIsHalf<T>) {
      const float negated = 0.0f - ToFloat(zp);
      if (scale[channel] == 1.0f && negated == 0.0f) {  // as written models have it
        RoundToHalf(in, out, count, [](auto value) { return value; });
        return;
      }
      Divisor(scale[channel]).Apply([=](auto divide) {
        if (negated == 0.0f) {
          RoundToHalf(in, out, count, divide);
        } else {
          RoundToHalf(in, out, count, [=](auto value) { return divide(value) - negated; });
        }
      });
    } else if constexpr (sizeof(T) < 4) {
      const float wide_zp = zp;
      WithClampedRatio(scale[channel], kMin<T> - wide_zp, kMax<T> - wide_zp,
                       [=](auto ratio) { QuantizeUniform(in, out, count, ratio, zp); });
    } else {
      Divisor(scale[channel]).Apply([=](auto divide) {
        QuantizeIntegers(out, count, [=](size_t i) { return divide(in[i]); }, [=](size_t) { return zp; });
      });
    }
  };
  const auto varying = [=](size_t first, size_t count, size_t channel) {
    const float* __restrict in = x + first;
    const float* __restrict s = scale + channel;
    const T* __restrict z = zero_point + (zero_point ? channel : 0);
    if constexpr (kIsHalf<T>) {
      if (zero_point) {
        RoundStaged(y + first, count, [=](size_t i) { return in[i] / s[i] - (0.0f - ToFloat(z[i])); });
      } else {
        RoundStaged(y + first, count, [=](size_t i) { return in[i] / s[i]; });
      }
    } else {
      const auto ratio = [=](size_t i) { return in[i] / s[i]; };
      if (zero_point) {
        QuantizeIntegers(y + first, count, ratio, [=](size_t i) { return z[i]; });
      } else {
        QuantizeIntegers(y + first, count, ratio, [](size_t) { return T{0}; });
      }
    }
  };
  Walk(channels, begin, end, uniform, varying);
}

}  // namespace VITIS_ISA
}  // namespace vitis
