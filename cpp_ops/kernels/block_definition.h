// One block by its definition, in double, where every step and quotient is exact and normal.
// SPDX-License-Identifier: MIT

#pragma once

#include "kernels/block_format.h"
#include "kernels/rounding.h"

namespace vitis {
namespace VITIS_ISA {

inline constexpr int32_t kMagnitude = 0x7fffffff;
inline constexpr int32_t kInfinity = 0x7f800000;

inline double PowerOfTwo(int exponent) { return BitCast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

// floor(log2 |x|) by the exponent field of a magnitude's bits.
inline int ExponentOf(int32_t magnitude) { return (magnitude >> 23) - 127; }

// The integer nearest to `steps` >= 0; `negative` says which way up is.
inline double RoundSteps(double steps, Rounding rounding, bool negative) {
  constexpr double kMagic = 4503599627370496.0;  // 2^52
  const double even = (steps + kMagic) - kMagic;
  if (rounding == Rounding::kHalfEven) return even;
  const bool away = rounding == Rounding::kHalfAway || !negative;
  if (away && steps - even == 0.5) return even + 1.0;
  if (!away && even - steps == 0.5) return even - 1.0;
  return even;
}

struct Maximum {
  int32_t finite = 0;   // the largest finite magnitude's bits
  bool broken = false;  // a NaN or an infinity was there
};

inline Maximum MaximumOf(const float* x, size_t stride, size_t count) {
  Maximum maximum;
  for (size_t i = 0; i < count; ++i) {
    const int32_t magnitude = BitCast<int32_t>(x[i * stride]) & kMagnitude;
    if (magnitude >= kInfinity) {
      maximum.broken = true;
    } else if (magnitude > maximum.finite) {
      maximum.finite = magnitude;
    }
  }
  return maximum;
}

// Where one element may lie: multiples of `step` up to `limit`.
struct Grid {
  double step;
  double limit;
};

inline float OnGrid(float x, Grid grid, Rounding rounding) {
  const bool negative = BitCast<int32_t>(x) < 0;
  const double magnitude = negative ? -static_cast<double>(x) : static_cast<double>(x);
  const double rounded = RoundSteps(magnitude / grid.step, rounding, negative) * grid.step;
  const float limited = static_cast<float>(rounded < grid.limit ? rounded : grid.limit);
  return negative ? -limited : limited;
}

// 2^128 is no float: there the code below -(2^m - 1) is left out.
inline Grid IntegerGrid(const BlockFormat& format, int exponent, bool negative) {
  const double step = PowerOfTwo(exponent + 1 - format.mantissa);
  const bool lowest = format.kind == BlockFormat::kTwosComplement && negative && exponent < 127;
  return {step, PowerOfTwo(exponent + 1) - (lowest ? 0.0 : step)};
}

inline Grid FloatGrid(const BlockFormat& format, int exponent, int32_t magnitude) {
  const int scale = exponent - format.emax > -127 ? exponent - format.emax : -127;
  // A subnormal float32 has a smaller logarithm than its field says.
  const double value = static_cast<double>(BitCast<float>(magnitude));
  const int own = static_cast<int>(BitCast<uint64_t>(value) >> 52) - 1023;
  const int least = scale + format.emin;
  return {PowerOfTwo((own > least ? own : least) - format.mantissa),
          static_cast<double>(format.largest) * PowerOfTwo(scale)};
}

inline void DefineShifted(const float* x, float* y, size_t stride, size_t count, const BlockFormat& format,
                          const Maximum& maximum) {
  const int least = ExponentOf(maximum.finite) - format.shift;
  for (size_t first = 0; first < count; first += format.sub_block) {
    const size_t n = count - first < format.sub_block ? count - first : format.sub_block;
    const int own = ExponentOf(MaximumOf(x + first * stride, stride, n).finite);
    const Grid grid = IntegerGrid(format, own > least ? own : least, false);
    for (size_t i = first; i < first + n; ++i) {
      const int32_t bits = BitCast<int32_t>(x[i * stride]);
      const bool subnormal = (bits & kMagnitude) < 0x00800000;
      const float value = subnormal ? BitCast<float>(bits & ~kMagnitude) : x[i * stride];
      y[i * stride] = maximum.broken ? BitCast<float>(0x7fc00000) : OnGrid(value, grid, format.rounding);
    }
  }
}

inline void DefineBlock(const float* x, float* y, size_t stride, size_t count, const BlockFormat& format) {
  const Maximum maximum = MaximumOf(x, stride, count);
  if (format.kind == BlockFormat::kShifted) {
    DefineShifted(x, y, stride, count, format, maximum);
    return;
  }
  const int exponent = ExponentOf(maximum.finite);
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i * stride];
    const int32_t bits = BitCast<int32_t>(value);
    const int32_t magnitude = bits & kMagnitude;
    if (magnitude >= kInfinity) {
      y[i * stride] = value;
    } else if (format.kind == BlockFormat::kFloat) {
      y[i * stride] = OnGrid(value, FloatGrid(format, exponent, magnitude), Rounding::kHalfEven);
    } else {
      y[i * stride] = OnGrid(value, IntegerGrid(format, exponent, bits < 0), format.rounding);
    }
  }
}

}  // namespace VITIS_ISA
}  // namespace vitis
