// y = clamp(round(x / scale), low, high) * scale: quantize and dequantize in one pass, never leaving float.
// SPDX-License-Identifier: MIT
//
// low = qmin - zp and high = qmax - zp, so the zero point cancels. Bit-equal to the pair of quantize and dequantize: a
// small negative becomes +0.0 in both.

#pragma once

#include "kernels/rounding.h"
#include "kernels/walk.h"

namespace vitis {
namespace VITIS_ISA {

inline float FixDouble(float ratio, float scale, double low, double high) {
  double v = ratio;
  v = v > low ? v : low;
  v = v < high ? v : high;
  return static_cast<float>((v + kMagicDouble) - kMagicDouble) * scale;
}

inline void FixNeuron(const float* x, float* y, const float* scale, const double* low, const double* high,
                      const AxisView& channels, size_t begin, size_t end) {
  constexpr double kFloatRange = 4194303.0;  // 2^22 - 1: where kMagicFloat rounds
  const auto uniform = [=](size_t first, size_t count, size_t channel) {
    const float* __restrict in = x + first;
    float* __restrict out = y + first;
    const float s = scale[channel];
    const double lo = low[channel];
    const double hi = high[channel];
    if (lo >= -kFloatRange && hi <= kFloatRange) {
      WithClampedRatio(s, static_cast<float>(lo), static_cast<float>(hi), [=](auto ratio) {
        const auto fix = [=](auto v) { return ((ratio(v) + kMagicFloat) - kMagicFloat) * s; };
#if VITIS_HAS_AVX2
        if (ForEachGroup<8>(count, [=](size_t i) { Store(out + i, fix(Load(in + i))); })) return;
#endif
        for (size_t i = 0; i < count; ++i) out[i] = fix(in[i]);
      });
    } else {
      Divisor(s).Apply([=](auto divide) {
        for (size_t i = 0; i < count; ++i) out[i] = FixDouble(divide(in[i]), s, lo, hi);
      });
    }
  };
  const auto varying = [=](size_t first, size_t count, size_t channel) {
    const float* __restrict in = x + first;
    float* __restrict out = y + first;
    const float* __restrict s = scale + channel;
    const double* __restrict lo = low + channel;
    const double* __restrict hi = high + channel;
    for (size_t i = 0; i < count; ++i) out[i] = FixDouble(in[i] / s[i], s[i], lo[i], hi[i]);
  };
  Walk(channels, begin, end, uniform, varying);
}

}  // namespace VITIS_ISA
}  // namespace vitis
