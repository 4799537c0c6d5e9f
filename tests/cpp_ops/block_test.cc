// Blocks that share an exponent against arithmetic with ldexp and logb, in every layout, kind, rounding and split.
// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "checks.h"
#include "kernels/kernels.h"

namespace {

using checks::BitsOf;
using checks::Check;
using checks::FromBits;
using vitis::AxisView;
using vitis::BestKernels;
using vitis::BlockFormat;
using vitis::Rounding;

int FieldExponent(float x) { return std::fpclassify(x) == FP_NORMAL ? std::ilogb(x) : -127; }

double Nearest(double steps, Rounding rounding) {
  if (rounding == Rounding::kHalfAway) return std::copysign(std::floor(std::fabs(steps) + 0.5), steps);
  if (rounding == Rounding::kHalfUp) return std::copysign(std::fabs(std::floor(steps + 0.5)), steps);
  return std::nearbyint(steps);
}

float NaiveElement(float x, const BlockFormat& format, int block, int own_block) {
  if (format.kind == BlockFormat::kFloat) {
    const int scale = std::max(block - format.emax, -127);
    const int own = x == 0 ? -1000 : std::ilogb(x);
    const double step = std::ldexp(1.0, std::max(own, scale + format.emin) - format.mantissa);
    const double limit = std::ldexp(static_cast<double>(format.largest), scale);
    const double y = std::nearbyint(static_cast<double>(x) / step) * step;
    return static_cast<float>(std::copysign(std::min(std::fabs(y), limit), static_cast<double>(x)));
  }
  if (format.kind == BlockFormat::kShifted) {
    block = std::max(own_block, block - format.shift);
    if (std::fpclassify(x) == FP_SUBNORMAL) x = std::copysign(0.0f, x);
  }
  const double step = std::ldexp(1.0, block + 1 - format.mantissa);
  const double most = std::ldexp(1.0, format.mantissa) - 1;
  const bool lowest = format.kind == BlockFormat::kTwosComplement && block < 127;
  const double steps = Nearest(static_cast<double>(x) / step, format.rounding);
  const double y = std::max(std::min(steps, most), lowest ? -most - 1 : -most) * step;
  return static_cast<float>(std::copysign(std::fabs(y), static_cast<double>(x)));
}

void NaiveBlock(const float* x, float* y, size_t stride, size_t count, const BlockFormat& format) {
  const auto exponent = [&](size_t first, size_t last) {
    int largest = -127;
    for (size_t i = first; i < last; ++i) {
      if (std::isfinite(x[i * stride])) largest = std::max(largest, FieldExponent(x[i * stride]));
    }
    return largest;
  };
  bool broken = false;
  for (size_t i = 0; i < count; ++i) broken = broken || !std::isfinite(x[i * stride]);
  for (size_t i = 0; i < count; ++i) {
    const float value = x[i * stride];
    const size_t part = i / format.sub_block * format.sub_block;
    const int own = exponent(part, std::min(count, part + format.sub_block));
    float& out = y[i * stride];
    out = std::isfinite(value) ? NaiveElement(value, format, exponent(0, count), own) : value;
    if (broken && format.kind == BlockFormat::kShifted) out = NAN;
  }
}

std::vector<float> Awkward(size_t size, int spread, std::mt19937& random) {
  std::vector<float> values(size);
  int centre = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 64 == 0) centre = static_cast<int>(random() % 300) - 160;
    const int eighths = static_cast<int>(random() % 2049) - 1024;
    const int shift = centre - static_cast<int>(random() % static_cast<uint32_t>(spread));
    values[i] = std::ldexp(static_cast<float>(eighths) / 8, shift);
    if (!std::isfinite(values[i])) values[i] = FromBits(0x7f7fffff);
    if (random() % 5 == 0) values[i] = std::copysign(0.0f, values[i]);
    if (random() % 40 == 0) values[i] = FromBits(static_cast<uint32_t>(random()));
    if (random() % 4 == 0) values[i] = FromBits(BitsOf(values[i]) + static_cast<uint32_t>(random() % 3) - 1);
    if (random() % 400 == 0) values[i] = i % 2 ? -INFINITY : NAN;
  }
  return values;
}

std::vector<BlockFormat> Formats() {
  std::vector<BlockFormat> formats;
  for (const Rounding rounding : {Rounding::kHalfAway, Rounding::kHalfUp, Rounding::kHalfEven}) {
    for (const size_t block : {8, 12, 16, 32, 1000}) {
      for (const BlockFormat::Kind kind :
           {BlockFormat::kInteger, BlockFormat::kTwosComplement, BlockFormat::kShifted}) {
        for (const int mantissa : {1, 2, 4, 7, 15, 23}) {
          BlockFormat format;
          format.kind = kind;
          format.rounding = rounding;
          format.block = block;
          format.mantissa = mantissa;
          format.sub_block = mantissa == 4 ? 4 : 2;
          format.shift = mantissa == 2 ? 7 : 1;
          formats.push_back(format);
        }
      }
    }
  }
  struct Small {
    int mantissa, emax, emin;
    float largest;
  };
  for (const Small& small : {Small{2, 15, -14, 57344.0f}, Small{3, 8, -6, 448.0f}, Small{2, 4, -2, 28.0f},
                             Small{3, 2, 0, 7.5f}, Small{1, 2, 0, 6.0f}}) {
    for (const size_t block : {8, 16, 32, 48}) {
      BlockFormat format;
      format.kind = BlockFormat::kFloat;
      format.block = block;
      format.mantissa = small.mantissa;
      format.emax = small.emax;
      format.emin = small.emin;
      format.largest = small.largest;
      formats.push_back(format);
    }
  }
  return formats;
}

void TestFormat(const BlockFormat& format, const AxisView& lines, std::mt19937& random) {
  const std::vector<float> x = Awkward(lines.size(), random() % 2 ? 6 : 40, random);
  std::vector<float> want(x.size());
  std::vector<float> got(x.size());
  for (size_t o = 0; o < lines.outer; ++o) {
    for (size_t i = 0; i < lines.inner; ++i) {
      for (size_t at = 0; at < lines.length; at += format.block) {
        const size_t offset = (o * lines.length + at) * lines.inner + i;
        NaiveBlock(&x[offset], &want[offset], lines.inner, std::min(format.block, lines.length - at), format);
      }
    }
  }
  const size_t blocks = format.CountBlocks(lines);
  const size_t cuts[] = {0, blocks / 3, std::min(blocks, blocks / 3 + 1), blocks};
  for (size_t piece = 0; piece < 3; ++piece) {
    BestKernels().block_quantize(x.data(), got.data(), format, lines, cuts[piece], cuts[piece + 1]);
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const bool same = std::isnan(want[i]) ? std::isnan(got[i]) : BitsOf(got[i]) == BitsOf(want[i]);
    Check(same, format.kind == BlockFormat::kFloat ? "small float" : "integer", x[i], got[i], want[i]);
  }
}

void TestAll() {
  std::mt19937 random(15);
  const AxisView layouts[] = {{3, 512, 1}, {7, 49, 1}, {2, 5, 1},   {2, 64, 40}, {1, 70, 1500},
                              {3, 33, 7},  {1, 1, 3},  {2, 3, 300}, {1, 1100, 2}};
  for (const BlockFormat& format : Formats()) {
    for (const AxisView& lines : layouts) TestFormat(format, lines, random);
  }
}

}  // namespace

int main() { return checks::Run(TestAll); }
