// A sum of non-negative doubles that is exact and so does not depend on their order.
// SPDX-License-Identifier: MIT

#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace vitis {

// A 768-bit integer in units of 2^-298, the square of the least float32. 2^64 squares of the greatest one fit.
class ExactSum {
 public:
  static constexpr size_t kLimbs = 12;

  // `value` is a finite, non-negative multiple of 2^-298.
  void Add(double value) {
    if (value == 0.0) return;
    int exponent = 0;
    uint64_t mantissa = static_cast<uint64_t>(std::ldexp(std::frexp(value, &exponent), 53));
    int shift = exponent - 53 + 298;
    if (shift < 0) {
      mantissa >>= -shift;
      shift = 0;
    }
    const size_t limb = static_cast<size_t>(shift) / 64;
    const int bit = shift % 64;
    AddAt(limb, mantissa << bit);
    if (bit > 0) AddAt(limb + 1, mantissa >> (64 - bit));
  }

  void Add(const ExactSum& other) {
    for (size_t i = 0; i < kLimbs; ++i) AddAt(i, other.limbs_[i]);
  }

  uint64_t* limbs() { return limbs_; }
  const uint64_t* limbs() const { return limbs_; }

 private:
  void AddAt(size_t limb, uint64_t part) {
    while (part != 0 && limb < kLimbs) {
      limbs_[limb] += part;
      part = limbs_[limb] < part ? 1 : 0;  // the carry
      ++limb;
    }
  }

  uint64_t limbs_[kLimbs] = {};
};

}  // namespace vitis
