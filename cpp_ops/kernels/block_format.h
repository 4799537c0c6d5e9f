// Numbers that share an exponent: a block along an axis has one, taken from its largest element.
// SPDX-License-Identifier: MIT
//
// E = max floor(log2 |x|) over the finite elements of a block, from the exponent field alone: -127 where all are
// subnormal or zero. The last block of a line may be shorter than the others.
//   kInteger   y = round(x / s) s, s = 2^(E + 1 - m): at most 2^m - 1 steps
//   kTwosComplement  the same, and -2^m steps are allowed too where that is a float
//   kShifted   as kInteger with E replaced by max(E_sub, E - shift), E_sub of the element's sub-block; a block with NaN or
//              infinity becomes NaN, subnormal elements become zero
//   kFloat     y = S element(x / S), S = 2^max(E - emax, -127): a small float of m mantissa bits, whose exponents go
//              from emin (below it: subnormals) to emax; saturated at `largest`; half to even
// Elsewhere NaN and infinities pass. A zero keeps the sign of what was rounded to it.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/axis_view.h"

namespace vitis {

enum class Rounding : int { kHalfAway = 0, kHalfUp = 1, kHalfEven = 2 };

struct BlockFormat {
  enum Kind { kInteger, kTwosComplement, kShifted, kFloat };

  Kind kind = kInteger;
  Rounding rounding = Rounding::kHalfEven;
  size_t block = 8;
  int mantissa = 7;  // m, at most 23

  size_t sub_block = 2;  // kShifted; divides the block
  int shift = 1;

  int emax = 0;  // kFloat
  int emin = 0;
  float largest = 1.0f;

  size_t BlocksInLine(const AxisView& lines) const { return lines.length / block + (lines.length % block != 0); }
  size_t CountBlocks(const AxisView& lines) const { return lines.outer * BlocksInLine(lines) * lines.inner; }
};

}  // namespace vitis
