// Every block of a tensor onto its grid: r = (|x| + c) - c rounds to the multiples of c's last place.
// SPDX-License-Identifier: MIT
//
// c = 2^23 step, so its exponent field is the block's own (or the element's) plus a constant. That holds while c and
// the tie below it are normal numbers; blocks for which they are not, and blocks with NaN or infinity, are left to
// block_definition.h. A block of zeros is as fast as any: c only has to be some positive number.

#pragma once

#include "kernels/block_definition.h"
#include "kernels/float_bits.h"

namespace vitis {
namespace VITIS_ISA {

inline constexpr int32_t kField = 0x7f800000;
inline constexpr int32_t kOneField = 0x00800000;

// The constants of a format as bit patterns. Blocks whose maximum is zero or in [low, high) take the fast way.
template <BlockFormat::Kind kKind, Rounding kRounding>
struct Grids {
  explicit Grids(const BlockFormat& format) {
    const int m = format.mantissa;
    if (kKind == BlockFormat::kFloat) {
      to_magic = (23 - m) * kOneField;
      to_limit = (BitCast<int32_t>(format.largest) & ~kField) +
                 ((BitCast<int32_t>(format.largest) & kField) - (format.emax + 127) * kOneField);
      to_least = (format.emax - format.emin) * kOneField;
      low = (format.emax - format.emin + 1) * kOneField;
    } else {
      to_magic = (24 - m) * kOneField;
      to_limit = kOneField - (1 << (24 - m));
      to_least = format.shift * kOneField;
      low = (m + 2 + (kKind == BlockFormat::kShifted ? format.shift : 0)) * kOneField;
    }
    high = kField - to_magic - kOneField;
  }

  bool Holds(int32_t maximum) const { return maximum == 0 || (maximum >= low && maximum < high); }

  // x on the grid; `field` is the exponent field of its block, or of its sub-block where these differ.
  template <class Float, class Ints>
  Float operator()(Float x, Ints field) const {
    const Ints bits = BitsOf(x);
    const Ints magnitude = bits & kMagnitude;
    const Ints sign = bits & ~kMagnitude;
    Ints exponent = field;
    if constexpr (kKind == BlockFormat::kFloat) exponent = Larger(magnitude & kField, field - to_least);
    const Float a = FloatOf(magnitude);
    const Float magic = FloatOf(exponent + to_magic);
    Float rounded = (a + magic) - magic;
    if constexpr (kRounding != Rounding::kHalfEven && kKind != BlockFormat::kFloat) {
      // Half of a step, in the direction in which half to even may have gone against the rule.
      const Ints half = exponent + (to_magic - 24 * kOneField);
      const Ints side = kRounding == Rounding::kHalfAway ? Ints(0) : sign;
      const Ints wrong = IfEqual(a - rounded, FloatOf(half | side));
      rounded = rounded + FloatOf(((half + kOneField) | side) & wrong);
    }
    const Ints limit = field + to_limit;
    // As an integer every negative number is below the limit.
    if constexpr (kKind == BlockFormat::kTwosComplement) return FloatOf(Smaller(BitsOf(rounded) | sign, limit));
    return FloatOf(Smaller(BitsOf(rounded), limit) | sign);
  }

  int32_t to_magic = 0;
  int32_t to_limit = 0;
  int32_t to_least = 0;
  int32_t low = 0;
  int32_t high = 0;
};

// The sub-block's own field, but not below the block's by more than the shift.
template <class Rule, class Ints>
Ints ShiftedField(const Rule& rule, Ints sub_maximum, Ints maximum) {
  return Larger(sub_maximum & kField, (maximum & kField) - rule.to_least);
}

// One block of neighbours. kSize and kSub are the sizes where they are known to the compiler, or zero.
template <size_t kSize, size_t kSub, bool kShifted, class Rule>
VITIS_ALWAYS_INLINE void QuantizeNeighbours(const float* __restrict x, float* __restrict y, size_t length,
                                            const BlockFormat& format, const Rule& rule) {
  const size_t count = kSize ? kSize : length;
  int32_t maximum = 0;
  for (size_t i = 0; i < count; ++i) maximum = Larger(maximum, BitCast<int32_t>(x[i]) & kMagnitude);
  if (!rule.Holds(maximum)) {
    DefineBlock(x, y, 1, count, format);
    return;
  }
  if constexpr (!kShifted) {
    const int32_t field = maximum & kField;
    for (size_t i = 0; i < count; ++i) y[i] = rule(x[i], field);
  } else {
    const size_t sub = kSub ? kSub : format.sub_block;
    for (size_t first = 0; first < count; first += sub) {
      const size_t last = kSize || count - first > sub ? first + sub : count;
      int32_t own = 0;
      for (size_t i = first; i < last; ++i) own = Larger(own, BitCast<int32_t>(x[i]) & kMagnitude);
      const int32_t field = ShiftedField(rule, own, maximum);
      for (size_t i = first; i < last; ++i) y[i] = rule(x[i], field);
    }
  }
}

#if VITIS_HAS_AVX2
inline constexpr size_t kStretch = 32;

// Several whole blocks at once: taken singly, the maxima would be most of the work.
template <size_t kSize, size_t kSub, bool kShifted, class Rule>
VITIS_ALWAYS_INLINE void QuantizeStretch(const float* x, float* y, const BlockFormat& format, const Rule& rule) {
  static_assert(!kShifted || kSub == 2);
  constexpr size_t kVectors = kStretch / 8;
  EightInts fields[kVectors] = {0, 0, 0, 0};
  EightInts largest = 0;
  EightInts least = -1;  // of the maxima less one, without sign: a maximum of zero does not count
  for (size_t first = 0; first < kVectors; first += kSize / 8) {
    EightInts maximum = 0;
    for (size_t k = first; k < first + kSize / 8; ++k) {
      const EightInts magnitude = BitsOf(Load(x + 8 * k)) & kMagnitude;
      maximum = Larger(maximum, magnitude);
      if (kShifted) fields[k] = OfPair(magnitude);
    }
    maximum = OfEight(OfFour(OfPair(maximum)));
    largest = Larger(largest, maximum);
    least = SmallerUnsigned(least, maximum - 1);
    for (size_t k = first; k < first + kSize / 8; ++k) {
      fields[k] = kShifted ? ShiftedField(rule, fields[k], maximum) : maximum & kField;
    }
  }
  const EightInts too_small = (rule.low - 1) - SmallerUnsigned(least, rule.low - 1);
  if (AnyPositive(Larger(largest - (rule.high - 1), too_small))) {
    for (size_t i = 0; i < kStretch; i += kSize) {
      QuantizeNeighbours<kSize, kSub, kShifted>(x + i, y + i, kSize, format, rule);
    }
    return;
  }
  for (size_t k = 0; k < kVectors; ++k) Store(y + 8 * k, rule(Load(x + 8 * k), fields[k]));
}
#endif

template <size_t kSize, size_t kSub, bool kShifted, class Rule>
void QuantizeRun(const float* x, float* y, size_t length, const BlockFormat& format, const Rule& rule) {
  const size_t block = kSize ? kSize : format.block;
  size_t first = 0;
#if VITIS_HAS_AVX2
  if constexpr (kSize != 0) {
    first = length / kStretch * kStretch;
    ForEachGroup<kStretch>(
        first, [=, &format](size_t i) { QuantizeStretch<kSize, kSub, kShifted>(x + i, y + i, format, rule); });
  }
#endif
  for (; length - first >= block; first += block) {
    QuantizeNeighbours<kSize, kSub, kShifted>(x + first, y + first, block, format, rule);
  }
  if (first < length) QuantizeNeighbours<0, 0, kShifted>(x + first, y + first, length - first, format, rule);
}

// Blocks [begin, end) where the axis is the last one; lines whose length is a multiple of the block are one long line.
template <bool kShifted, class Rule>
void QuantizeAlong(const float* x, float* y, const BlockFormat& format, const AxisView& lines, size_t begin, size_t end,
                   const Rule& rule) {
  const size_t in_line = format.BlocksInLine(lines);
  const bool seamless = lines.length % format.block == 0;
  while (begin < end) {
    const size_t at = begin % in_line;
    const size_t blocks = seamless || end - begin < in_line - at ? end - begin : in_line - at;
    const size_t offset = begin / in_line * lines.length + at * format.block;
    const size_t rest = lines.length - at * format.block;
    const size_t length = (seamless || blocks < in_line - at) ? blocks * format.block : rest;
    if (kShifted && format.block == 16 && format.sub_block == 2) {
      QuantizeRun<16, 2, true>(x + offset, y + offset, length, format, rule);
    } else if (!kShifted && format.block == 8) {
      QuantizeRun<8, 0, false>(x + offset, y + offset, length, format, rule);
    } else if (!kShifted && format.block == 16) {
      QuantizeRun<16, 0, false>(x + offset, y + offset, length, format, rule);
    } else if (!kShifted && format.block == 32) {
      QuantizeRun<32, 0, false>(x + offset, y + offset, length, format, rule);
    } else {
      QuantizeRun<0, 0, kShifted>(x + offset, y + offset, length, format, rule);
    }
    begin += blocks;
  }
}

// Neighbouring columns whose maxima are taken together; a stretch of every row that is worth a stream. Few rows are read
// twice and written within a first-level cache. More come from the second level again, which is fast in long stretches.
inline constexpr size_t kFewRows = 16;
inline constexpr size_t kColumns = 128;
inline constexpr size_t kMostColumns = 1024;

inline void TakeMaxima(const float* __restrict x, size_t stride, size_t rows, size_t columns,
                       int32_t* __restrict maxima) {
  for (size_t j = 0; j < columns; ++j) maxima[j] = 0;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t j = 0; j < columns; ++j) {
      maxima[j] = Larger(maxima[j], BitCast<int32_t>(x[row * stride + j]) & kMagnitude);
    }
  }
}

template <bool kShifted, class Rule>
void QuantizeColumns(const float* x, float* y, size_t stride, size_t rows, size_t columns, const BlockFormat& format,
                     const Rule& rule) {
  int32_t maxima[kMostColumns];
  int32_t fields[kMostColumns];
  TakeMaxima(x, stride, rows, columns, maxima);
  int32_t all_hold = -1;
  for (size_t j = 0; j < columns; ++j) all_hold &= rule.Holds(maxima[j]) ? -1 : 0;
  if (!all_hold) {
    for (size_t j = 0; j < columns; ++j) DefineBlock(x + j, y + j, stride, rows, format);
    return;
  }
  const size_t part = kShifted ? format.sub_block : rows;
  for (size_t first = 0; first < rows; first += part) {
    const size_t last = rows - first > part ? first + part : rows;
    if constexpr (kShifted) {
      TakeMaxima(x + first * stride, stride, last - first, columns, fields);
      for (size_t j = 0; j < columns; ++j) fields[j] = ShiftedField(rule, fields[j], maxima[j]);
    } else {
      for (size_t j = 0; j < columns; ++j) fields[j] = maxima[j] & kField;
    }
    for (size_t row = first; row < last; ++row) {
      const float* __restrict in = x + row * stride;
      float* __restrict out = y + row * stride;
      for (size_t j = 0; j < columns; ++j) out[j] = rule(in[j], fields[j]);
    }
  }
}

// Blocks [begin, end) where a line's elements lie apart.
template <bool kShifted, class Rule>
void QuantizeAcross(const float* x, float* y, const BlockFormat& format, const AxisView& lines, size_t begin,
                    size_t end, const Rule& rule) {
  const size_t in_line = format.BlocksInLine(lines);
  while (begin < end) {
    const size_t column = begin % lines.inner;
    const size_t at = begin / lines.inner % in_line * format.block;
    const size_t offset = (begin / lines.inner / in_line * lines.length + at) * lines.inner + column;
    const size_t rows = lines.length - at < format.block ? lines.length - at : format.block;
    size_t columns = lines.inner - column < end - begin ? lines.inner - column : end - begin;
    const size_t most = rows > kFewRows ? kMostColumns : kColumns;
    if (columns > most) columns = most;
    QuantizeColumns<kShifted>(x + offset, y + offset, lines.inner, rows, columns, format, rule);
    begin += columns;
  }
}

template <BlockFormat::Kind kKind, Rounding kRounding>
void QuantizeWith(const float* x, float* y, const BlockFormat& format, const AxisView& lines, size_t begin,
                  size_t end) {
  constexpr bool kShifted = kKind == BlockFormat::kShifted;
  const Grids<kKind, kRounding> rule(format);
  if (lines.inner == 1) {
    QuantizeAlong<kShifted>(x, y, format, lines, begin, end, rule);
  } else {
    QuantizeAcross<kShifted>(x, y, format, lines, begin, end, rule);
  }
}

template <BlockFormat::Kind kKind>
void QuantizeRounding(const float* x, float* y, const BlockFormat& format, const AxisView& lines, size_t begin,
                      size_t end) {
  switch (format.rounding) {
    case Rounding::kHalfAway:
      return QuantizeWith<kKind, Rounding::kHalfAway>(x, y, format, lines, begin, end);
    case Rounding::kHalfUp:
      return QuantizeWith<kKind, Rounding::kHalfUp>(x, y, format, lines, begin, end);
    case Rounding::kHalfEven:
      return QuantizeWith<kKind, Rounding::kHalfEven>(x, y, format, lines, begin, end);
  }
}

inline void BlockQuantize(const float* x, float* y, const BlockFormat& format, const AxisView& lines, size_t begin,
                          size_t end) {
  switch (format.kind) {
    case BlockFormat::kInteger:
      return QuantizeRounding<BlockFormat::kInteger>(x, y, format, lines, begin, end);
    case BlockFormat::kTwosComplement:
      return QuantizeRounding<BlockFormat::kTwosComplement>(x, y, format, lines, begin, end);
    case BlockFormat::kShifted:
      return QuantizeRounding<BlockFormat::kShifted>(x, y, format, lines, begin, end);
    case BlockFormat::kFloat:
      return QuantizeWith<BlockFormat::kFloat, Rounding::kHalfEven>(x, y, format, lines, begin, end);
  }
}

}  // namespace VITIS_ISA
}  // namespace vitis
