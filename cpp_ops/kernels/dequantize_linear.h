// y = (q - zero_point) * scale; the difference is rounded to float32 once, then multiplied.
// SPDX-License-Identifier: MIT
//
// A zero point of -0.0 counts as 0.0, so that subtracting a zero never changes a bit; graph optimizers assume that.

#pragma once

#include "kernels/quantize_linear.h"
#include "kernels/rounding.h"
#include "kernels/walk.h"

namespace vitis {
namespace VITIS_ISA {

inline constexpr size_t kGroup = 32;

template <class T>
inline double ToDouble(T value) {
  if constexpr (std::is_same_v<T, uint32_t>) {
    // 2^52 + value, made from bits: SSE and AVX2 convert only signed integers.
    return BitCast<double>(uint64_t{0x4330000000000000} | value) - 4503599627370496.0;
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
inline float Difference(T value, T zero_point) {
  if constexpr (kIsHalf<T>) {
    return ToFloat(value) - (ToFloat(zero_point) + 0.0f);
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<float>(static_cast<int32_t>(value) - static_cast<int32_t>(zero_point));
  } else {
    return static_cast<float>(ToDouble(value) - ToDouble(zero_point));
  }
}

#if VITIS_HAS_AVX2
inline void DequantizeGroup(const Float16* x, float* y, float scale, Float16 zp) {
  const Eight zero = ToFloat(zp) + 0.0f;
  for (size_t k = 0; k < kGroup; k += 8) {
    const Eight value = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + k)));
    Store(y + k, (value - zero) * scale);
  }
}
#endif

template <class T>
void DequantizeGroup(const T* __restrict x, float* __restrict y, float scale, T zp) {
  for (size_t k = 0; k < kGroup; ++k) y[k] = Difference(x[k], zp) * scale;
}

template <class T>
void Dequantize(const T* __restrict x, float* __restrict y, size_t count, float scale, T zp) {
  if (ForEachGroup<kGroup>(count, [=](size_t i) { DequantizeGroup(x + i, y + i, scale, zp); })) return;
  for (size_t i = 0; i < count; ++i) y[i] = Difference(x[i], zp) * scale;
}

template <class T>
void DequantizeLinear(const T* x, float* y, const float* scale, const T* zero_point, const AxisView& channels,
                      size_t begin, size_t end) {
  const auto uniform = [=](size_t first, size_t count, size_t channel) {
    Dequantize(x + first, y + first, count, scale[channel], zero_point ? zero_point[channel] : T{0});
  };
  const auto varying = [=](size_t first, size_t count, size_t channel) {
    const T* __restrict in = x + first;
    float* __restrict out = y + first;
    const float* __restrict s = scale + channel;
    if (zero_point) {
      const T* __restrict z = zero_point + channel;
      for (size_t i = 0; i < count; ++i) out[i] = Difference(in[i], z[i]) * s[i];
    } else {
      for (size_t i = 0; i < count; ++i) out[i] = Difference(in[i], T{0}) * s[i];
    }
  };
  Walk(channels, begin, end, uniform, varying);
}

}  // namespace VITIS_ISA
}  // namespace vitis
