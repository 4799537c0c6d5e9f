// Rounding to nearest even without a rounding instruction, and conversions to and from 16-bit floats.
// SPDX-License-Identifier: MIT
//
// Included only by kernels.cc, once per instruction set: VITIS_ISA is the namespace of that copy. Nothing here may
// come from a std:: template, or the linker could keep an AVX-512 body of it for an older processor.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/bfloat16.h"
#include "kernels/eight.h"
#include "kernels/float16.h"

namespace vitis {
namespace VITIS_ISA {

template <class To, class From>
inline To BitCast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Adding 1.5 * 2^23 leaves the nearest-even integer of |v| < 2^22 in the low bits of the sum.
inline constexpr float kMagicFloat = 12582912.0f;
// Adding 1.5 * 2^52 does the same in double for |v| < 2^51.
inline constexpr double kMagicDouble = 6755399441055744.0;

// x / scale, by a multiplication where that is the same: 1 / scale is exact and normal for a power of two.
class Divisor {
 public:
  explicit Divisor(float scale) : scale_(scale), reciprocal_(1.0f / scale) {
    constexpr uint32_t kMantissa = 0x007fffff;
    constexpr uint32_t kExponent = 0x7f800000;
    const auto normal = [](uint32_t bits) { return (bits & kExponent) != 0 && (bits & kExponent) != kExponent; };
    const uint32_t scale_bits = BitCast<uint32_t>(scale);
    exact_ = (scale_bits & kMantissa) == 0 && normal(scale_bits) && normal(BitCast<uint32_t>(reciprocal_));
  }
  bool exact() const { return exact_; }

  // Calls body(divide), where divide(x) is x / scale; x is a float or Eight.
  template <class Body>
  void Apply(Body body) const {
    const float scale = scale_;
    const float reciprocal = reciprocal_;
    if (exact_) {
      body([reciprocal](auto x) { return x * reciprocal; });
    } else {
      body([scale](auto x) { return x / scale; });
    }
  }

 private:
  float scale_;
  float reciprocal_;
  bool exact_;
};

// Calls body(ratio), where ratio(x) has the nearest integer of x / scale clamped to [low, high], and NaN gives low; x
// is a float or Eight. The bounds are integers below 2^22.
//
// With FMA the quotient takes three multiplications: for r = 1 / scale rounded to nearest, q = x r and e = x - q scale
// (exact), q + e r is x / scale rounded to nearest (Markstein). That needs no operand near the ends of float's range:
// hence the limits on scale, and x clamped instead of the quotient. A clamped x gives low (1 + 2^-24) at most, which
// rounds to low; a quotient so small that e is not exact rounds to zero anyway.
template <class Body>
void WithClampedRatio(float scale, float low, float high, Body body) {
  const float reciprocal = 1.0f / scale;
  const Divisor divisor(scale);
  if constexpr (kHasFma) {
    if (!divisor.exact() && scale > 0x1p-60f && scale < 0x1p60f) {
      const float lowest = low * scale;
      const float highest = high * scale;
      body([=](auto x) {
        const auto v = Min(Max(x, lowest), highest);
        const auto q = v * reciprocal;
        return MultiplyAdd(MultiplySubtract(q, scale, v), reciprocal, q);
      });
      return;
    }
  }
  divisor.Apply([=](auto divide) { body([=](auto x) { return Min(Max(divide(x), low), high); }); });
}

// float32 -> bfloat16, nearest even; infinities and overflow saturate, NaN becomes a quiet NaN of the same sign.
inline int32_t ToBFloat16Bits(float value) {
  const int32_t bits = BitCast<int32_t>(value);
  const int32_t magnitude = bits & 0x7fffffff;
  const int32_t sign = (bits >> 16) & 0x8000;
  constexpr int32_t kLast = 0x7f7f7fff;  // the last magnitude that rounds to a finite bfloat16
  const int32_t finite = magnitude < kLast ? magnitude : kLast;
  const int32_t rounded = (finite + 0x7fff + ((finite >> 16) & 1)) >> 16;
  return (magnitude > 0x7f800000 ? 0x7fc0 : rounded) | sign;
}

inline float FromBFloat16(uint16_t bits) { return BitCast<float>(static_cast<uint32_t>(bits) << 16); }

// float32 -> float16, nearest even; infinities and overflow saturate, NaN becomes a quiet NaN of the same sign.
inline int32_t ToFloat16Bits(float value) {
  const int32_t bits = BitCast<int32_t>(value);
  const int32_t magnitude = bits & 0x7fffffff;
  const int32_t sign = (bits >> 16) & 0x8000;
  constexpr int32_t kLast = 0x477fe000;  // 65504
  const int32_t finite = magnitude < kLast ? magnitude : kLast;
  const int32_t normal = (finite - 0x38000000 + 0xfff + ((finite >> 13) & 1)) >> 13;
  // Below 2^-14 the sum with 0.5 has the half's last place as its own last place.
  const int32_t subnormal = BitCast<int32_t>(BitCast<float>(finite) + 0.5f) - 0x3f000000;
  const int32_t rounded = finite < 0x38800000 ? subnormal : normal;
  return (magnitude > 0x7f800000 ? 0x7e00 : rounded) | sign;
}

inline float FromFloat16Bits(uint16_t half) {
  const int32_t magnitude = half & 0x7fff;
  const int32_t sign = (half & 0x8000) << 16;
  const int32_t normal = (magnitude << 13) + (magnitude < 0x7c00 ? 0x38000000 : 0x70000000);
  const int32_t subnormal =
      BitCast<int32_t>(BitCast<float>((magnitude << 13) + 0x38800000) - BitCast<float>(0x38800000));
  return BitCast<float>((magnitude < 0x0400 ? subnormal : normal) | sign);
}

}  // namespace VITIS_ISA
}  // namespace vitis
