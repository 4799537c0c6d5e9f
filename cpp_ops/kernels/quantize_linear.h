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

// value(i) is what to round.
template <class Value>
void RoundToFloat16(Float16* __restrict y, size_t count, Value value) {
#if VITIS_HAS_F16C
  constexpr size_t kWidth = 16;
  const __m256 limit = _mm256_set1_ps(65504.0f);
  const auto round = [=](__m256 v) {
    v = _mm256_max_ps(_mm256_sub_ps(_mm256_setzero_ps(), limit), _mm256_min_ps(limit, v));
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  };
  float wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = value(first + i);
    size_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      const __m256 a = _mm256_loadu_ps(wide + i);
      const __m256 b = _mm256_loadu_ps(wide + i + 8);
      if (_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) == 0) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + first + i), round(a));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(y + first + i + 8), round(b));
      } else {  // the processor would keep part of a NaN's payload; ours is always the same quiet NaN
        for (size_t k = i; k < i + kWidth; ++k) y[first + k].bits = static_cast<uint16_t>(ToFloat16Bits(wide[k]));
      }
    }
    for (; i < n; ++i) y[first + i].bits = static_cast<uint16_t>(ToFloat16Bits(wide[i]));
  }
#else
  int32_t wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = ToFloat16Bits(value(first + i));
    for (size_t i = 0; i < n; ++i) y[first + i].bits = static_cast<uint16_t>(wide[i]);
  }
#endif
}

template <class Value>
void RoundToHalf(Float16* y, size_t count, Value value) {
  RoundToFloat16(y, count, value);
}

#if VITIS_HAS_F16C
// Sixteen floats without a NaN, clamped to what is finite: adding half of the last place rounds.
inline __m256i RoundToBFloat16(const float* wide) {
  const __m256 limit = _mm256_castsi256_ps(_mm256_set1_epi32(0x7f7f0000));
  const auto round = [=](const float* eight) {
    const __m256 v = _mm256_min_ps(limit, _mm256_loadu_ps(eight));
    const __m256i bits = _mm256_castps_si256(_mm256_max_ps(_mm256_sub_ps(_mm256_setzero_ps(), limit), v));
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
  };
  return _mm256_permute4x64_epi64(_mm256_packus_epi32(round(wide), round(wide + 8)), 0xd8);
}
#endif

template <class Value>
void RoundToHalf(BFloat16* __restrict y, size_t count, Value value) {
#if VITIS_HAS_F16C
  constexpr size_t kWidth = 16;
  float wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = value(first + i);
    size_t i = 0;
    for (; i + kWidth <= n; i += kWidth) {
      const __m256 nan = _mm256_cmp_ps(_mm256_loadu_ps(wide + i), _mm256_loadu_ps(wide + i + 8), _CMP_UNORD_Q);
      if (_mm256_movemask_ps(nan) == 0) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + first + i), RoundToBFloat16(wide + i));
      } else {
        for (size_t k = i; k < i + kWidth; ++k) y[first + k].bits = static_cast<uint16_t>(ToBFloat16Bits(wide[k]));
      }
    }
    for (; i < n; ++i) y[first + i].bits = static_cast<uint16_t>(ToBFloat16Bits(wide[i]));
  }
#else
  int32_t wide[kStage];
  for (size_t first = 0; first < count; first += kStage) {
    const size_t n = count - first < kStage ? count - first : kStage;
    for (size_t i = 0; i < n; ++i) wide[i] = ToBFloat16Bits(value(first + i));
    for (size_t i = 0; i < n; ++i) y[first + i].bits = static_cast<uint16_t>(wide[i]);
  }
#endif
}

inline float ToFloat(Float16 value) { return FromFloat16Bits(value.bits); }
inline float ToFloat(BFloat16 value) { return FromBFloat16(value.bits); }

template <class T>
void QuantizeLinear(const float* x, T* y, const float* scale, const T* zero_point, const Blocks& blocks, size_t begin,
                    size_t end) {
  const auto uniform = [=](size_t first, size_t count, size_t channel) {
    const float* __restrict in = x + first;
    T* out = y + first;
    const T zp = zero_point ? zero_point[channel] : T{};
    const auto zero = [=](size_t) { return zp; };
    if constexpr (kIsHalf<T>) {
      const float negated = 0.0f - ToFloat(zp);
      Divisor(scale[channel]).Apply([=](auto divide) {
        if (negated == 0.0f) {
          RoundToHalf(out, count, [=](size_t i) { return divide(in[i]); });
        } else {
          RoundToHalf(out, count, [=](size_t i) { return divide(in[i]) - negated; });
        }
      });
    } else if constexpr (sizeof(T) < 4) {
      WithClampedRatio(scale[channel], kMin<T> - static_cast<float>(zp), kMax<T> - static_cast<float>(zp),
                       [=](auto ratio) {
                         StoreCodes(
                             out, count, [=](size_t i) { return BitCast<uint32_t>(ratio(in[i]) + kMagicFloat); }, zero);
                       });
    } else {
      Divisor(scale[channel]).Apply([=](auto divide) {
        QuantizeIntegers(
            out, count, [=](size_t i) { return divide(in[i]); }, zero);
      });
    }
  };
  const auto varying = [=](size_t first, size_t count, size_t channel) {
    const float* __restrict in = x + first;
    const float* __restrict s = scale + channel;
    const T* __restrict z = zero_point + (zero_point ? channel : 0);
    if constexpr (kIsHalf<T>) {
      if (zero_point) {
        RoundToHalf(y + first, count, [=](size_t i) { return in[i] / s[i] - (0.0f - ToFloat(z[i])); });
      } else {
        RoundToHalf(y + first, count, [=](size_t i) { return in[i] / s[i]; });
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
  Walk(blocks, begin, end, uniform, varying);
}

}  // namespace VITIS_ISA
}  // namespace vitis
