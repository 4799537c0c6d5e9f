// The kernels against the plainest possible arithmetic: every 16-bit pattern, awkward floats, every layout and split.
// SPDX-License-Identifier: MIT

#include "kernels/kernels.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "checks.h"

namespace {

using checks::BitsOf;
using checks::Check;
using checks::FromBits;
using vitis::AxisView;
using vitis::BestKernels;
using vitis::BFloat16;
using vitis::Float16;

// What a pattern of a 16-bit float with `mantissa` mantissa bits and exponent bias `bias` means, by its
// definition.
double Meaning(uint16_t bits, int mantissa, int bias) {
  const int fraction = bits & ((1 << mantissa) - 1);
  const int exponent = (bits & 0x7fff) >> mantissa;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 2 * bias + 1) return fraction ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

struct Format {
  int mantissa;
  int bias;
  uint16_t largest;
  uint16_t nan;
};
template <class T>
constexpr Format kFormat = {};
template <>
constexpr Format kFormat<Float16> = {10, 15, 0x7bff, 0x7e00};
template <>
constexpr Format kFormat<BFloat16> = {7, 127, 0x7f7f, 0x7fc0};

template <class T>
double Meaning(T value) {
  return Meaning(value.bits, kFormat<T>.mantissa, kFormat<T>.bias);
}

// Nearest 16-bit float by bisection over the patterns, ties to the even pattern, overflow to the largest.
template <class T>
uint16_t Nearest(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return kFormat<T>.nan | sign;
  const double magnitude = std::fabs(static_cast<double>(value));
  uint16_t low = 0;
  uint16_t high = kFormat<T>.largest;
  if (magnitude >= Meaning(T{high})) return high | sign;
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (Meaning(T{middle}) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - Meaning(T{low});
  const double above = Meaning(T{high}) - magnitude;
  if (below != above) return (below < above ? low : high) | sign;
  return (low % 2 == 0 ? low : high) | sign;
}

// Every pattern means what its definition says, and rounds back to itself; so does its neighbourhood of
// floats.
template <class T>
void TestEveryPattern(const char* name) {
  std::vector<T> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i].bits = static_cast<uint16_t>(i);
  const AxisView channels{1, 1, patterns.size()};
  const float one = 1.0f;
  std::vector<float> values(patterns.size());
  BestKernels().of<T>().dequantize(patterns.data(), values.data(), &one, nullptr, channels, 0, values.size());
  std::vector<float> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    const double want = Meaning(patterns[i]);
    const bool good = std::isnan(want) ? std::isnan(values[i]) : BitsOf(values[i]) == BitsOf(static_cast<float>(want));
    Check(good, name, static_cast<double>(i), values[i], want);
    const uint32_t bits = BitsOf(values[i]);
    const uint32_t half_step = sizeof(T) && kFormat<T>.mantissa == 7 ? 0x8000 : 0x1000;
    for (const uint32_t neighbour :
         {bits, bits + 1, bits - 1, bits + half_step, bits + half_step + 1, bits + half_step - 1}) {
      inputs.push_back(FromBits(neighbour));
    }
    if (kFormat<T>.mantissa == 10 && (i & 0x7c00) == 0) {  // half way between subnormals
      const double half_way = std::ldexp((i & 0x3ff) + 0.5, -24);
      for (const double v : {half_way, std::nextafter(half_way, 0.0), -half_way})
        inputs.push_back(static_cast<float>(v));
    }
  }
  std::vector<T> rounded(inputs.size());
  const AxisView all{1, 1, inputs.size()};
  BestKernels().of<T>().quantize(inputs.data(), rounded.data(), &one, nullptr, all, 0, inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    Check(rounded[i].bits == Nearest<T>(inputs[i]), name, inputs[i], rounded[i].bits, Nearest<T>(inputs[i]));
  }
}

std::vector<float> AwkwardFloats(float scale, size_t size, std::mt19937& random) {
  std::vector<float> values{0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f};
  for (const double limit : {0.0, 127.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65535.0, 65536.0, 2147483647.0,
                             2147483648.0, 4294967295.0, 4294967296.0, 9.3e18}) {
    for (const double offset : {-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5}) {
      values.push_back(static_cast<float>(limit + offset) * scale);
      values.push_back(-static_cast<float>(limit + offset) * scale);
    }
  }
  while (values.size() < size) {
    values.push_back(random() % 2 ? FromBits(static_cast<uint32_t>(random()))
                                  : static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 4 * scale);
  }
  values.resize(size);
  return values;
}

template <class T>
T NaiveQuantize(float x, float scale, T zero_point) {
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double high = static_cast<double>(std::numeric_limits<T>::max());
  const float ratio = x / scale;
  if (std::isnan(ratio)) return std::numeric_limits<T>::min();
  const double code = std::nearbyint(static_cast<double>(ratio)) + static_cast<double>(zero_point);
  return static_cast<T>(code < low ? low : code > high ? high : code);
}

template <class T>
void TestIntegers(const char* name) {
  std::mt19937 random(7);
  const AxisView layouts[] = {{1, 1, 5003}, {5, 7, 33}, {1, 3, 1000}, {40, 19, 1}, {2, 300, 1}, {3, 2, 2}};
  for (const AxisView& channels : layouts) {
    for (const float base : {1.0f, 0.25f, 0.1f, 3e-5f, 1e-39f, 1e20f}) {
      std::vector<float> scale(channels.length);
      std::vector<T> zero_point(channels.length);
      const T zeros[] = {0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      for (size_t c = 0; c < channels.length; ++c) {
        scale[c] = base * static_cast<float>(1 + c % 3);
        zero_point[c] = zeros[random() % 4];
      }
      const std::vector<float> x = AwkwardFloats(base, channels.size(), random);
      for (const bool with_zero_point : {true, false}) {
        const T* z = with_zero_point ? zero_point.data() : nullptr;
        std::vector<T> q(x.size());
        std::vector<float> y(x.size());
        std::vector<float> fixed(x.size());
        std::vector<double> low(channels.length);
        std::vector<double> high(channels.length);
        for (size_t c = 0; c < channels.length; ++c) {
          low[c] = static_cast<double>(std::numeric_limits<T>::min()) - (z ? static_cast<double>(z[c]) : 0.0);
          high[c] = static_cast<double>(std::numeric_limits<T>::max()) - (z ? static_cast<double>(z[c]) : 0.0);
        }
        // In three uneven pieces: a split must not change a bit.
        const size_t cuts[] = {0, x.size() / 3, x.size() / 3 + 1, x.size()};
        for (size_t piece = 0; piece < 3; ++piece) {
          const size_t begin = cuts[piece];
          const size_t end = cuts[piece + 1];
          BestKernels().of<T>().quantize(x.data(), q.data(), scale.data(), z, channels, begin, end);
          BestKernels().of<T>().dequantize(q.data(), y.data(), scale.data(), z, channels, begin, end);
          BestKernels().fix_neuron(x.data(), fixed.data(), scale.data(), low.data(), high.data(), channels, begin, end);
        }
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t c = i / channels.inner % channels.length;
          const T zp = z ? z[c] : T{0};
          const T want = NaiveQuantize(x[i], scale[c], zp);
          Check(q[i] == want, name, x[i], static_cast<double>(q[i]), static_cast<double>(want));
          const float back = static_cast<float>(static_cast<int64_t>(want) - static_cast<int64_t>(zp)) * scale[c];
          Check(BitsOf(y[i]) == BitsOf(back), name, x[i], y[i], back);
          Check(BitsOf(fixed[i]) == BitsOf(back), name, x[i], fixed[i], back);
        }
      }
    }
  }
}

// Around every tie, for many scales: a quotient that is off by its last bit rounds the other way.
template <class T>
void TestTies(const char* name) {
  std::mt19937 random(13);
  for (int round = 0; round < 400; ++round) {
    const int exponent = static_cast<int>(random() % 130) - 65;
    const float scale = std::ldexp(1.0f + static_cast<float>(random() % 8388608) * 0x1p-23f, exponent);
    std::vector<float> x;
    for (int k = -300; k <= 300; ++k) {
      const double steps = k % 2 ? k : static_cast<double>(static_cast<int>(random() % 131072) - 65536);
      uint32_t bits = BitsOf(static_cast<float>((steps + 0.5) * static_cast<double>(scale)));
      for (int offset = -2; offset <= 2; ++offset) x.push_back(FromBits(bits + static_cast<uint32_t>(offset)));
    }
    const T zero_point = static_cast<T>(random());
    const AxisView channels{1, 1, x.size()};
    std::vector<T> q(x.size());
    std::vector<float> fixed(x.size());
    const double low = static_cast<double>(std::numeric_limits<T>::min()) - zero_point;
    const double high = static_cast<double>(std::numeric_limits<T>::max()) - zero_point;
    BestKernels().of<T>().quantize(x.data(), q.data(), &scale, &zero_point, channels, 0, x.size());
    BestKernels().fix_neuron(x.data(), fixed.data(), &scale, &low, &high, channels, 0, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const T want = NaiveQuantize(x[i], scale, zero_point);
      Check(q[i] == want, name, x[i], static_cast<double>(q[i]), static_cast<double>(want));
      const float back = static_cast<float>(static_cast<int>(want) - static_cast<int>(zero_point)) * scale;
      Check(BitsOf(fixed[i]) == BitsOf(back), name, x[i], fixed[i], back);
    }
  }
}

template <class T>
void TestHalfLayouts(const char* name) {
  std::mt19937 random(11);
  const AxisView layouts[] = {{1, 1, 2003}, {3, 5, 33}, {40, 19, 1}};
  for (const AxisView& channels : layouts) {
    std::vector<float> scale(channels.length);
    std::vector<T> zero_point(channels.length);
    for (size_t c = 0; c < channels.length; ++c) {
      scale[c] = 0.1f * static_cast<float>(1 + c % 5);
      zero_point[c].bits = Nearest<T>(static_cast<float>(c % 3) - 1.0f);
    }
    const std::vector<float> x = AwkwardFloats(0.1f, channels.size(), random);
    std::vector<T> q(x.size());
    std::vector<float> y(x.size());
    BestKernels().of<T>().quantize(x.data(), q.data(), scale.data(), zero_point.data(), channels, 0, x.size());
    BestKernels().of<T>().dequantize(q.data(), y.data(), scale.data(), zero_point.data(), channels, 0, x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t c = i / channels.inner % channels.length;
      const float zero = static_cast<float>(Meaning(zero_point[c]));
      const float value = x[i] / scale[c] - (0.0f - zero);
      Check(q[i].bits == Nearest<T>(value), name, x[i], q[i].bits, Nearest<T>(value));
      const float back = (static_cast<float>(Meaning(q[i])) - zero) * scale[c];
      const bool good = std::isnan(back) ? std::isnan(y[i]) : BitsOf(y[i]) == BitsOf(back);
      Check(good, name, x[i], y[i], back);
    }
  }
}

template <class T>
T Code(float x, float scale) {
  if constexpr (std::is_integral_v<T>) {
    return NaiveQuantize(x, scale, T{0});
  } else {
    return T{Nearest<T>(x / scale)};
  }
}

template <class T>
float Value(T code, float scale) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<float>(code) * scale;
  } else {
    return static_cast<float>(Meaning(code)) * scale;
  }
}

// Every number of elements around the widths of registers, from unaligned addresses; nothing beyond them is written.
// Among the first are all kinds of NaN and the largest floats, so that they meet ordinary values in one register.
template <class T>
void TestEveryCount(const char* name) {
  std::mt19937 random(17);
  constexpr uint8_t kUntouched = 0xa5;
  for (size_t count = 1; count <= 300; ++count) {
    const float scale = count % 2 ? 0.1f : 0.125f;
    const size_t begin = count % 7;
    const AxisView channels{1, 1, begin + count + 5};
    std::vector<float> x = AwkwardFloats(scale, channels.size(), random);
    for (const uint32_t bits : {0x7fffffffu, 0xffffffffu, 0x7f800001u, 0x7f7fffffu, 0xff7f8000u, 0x5f000000u}) {
      x[begin + random() % count] = FromBits(bits);
    }
    std::vector<T> q(x.size());
    std::vector<float> y(x.size());
    std::memset(q.data(), kUntouched, q.size() * sizeof(T));
    std::memset(y.data(), kUntouched, y.size() * sizeof(float));
    BestKernels().of<T>().quantize(x.data(), q.data(), &scale, nullptr, channels, begin, begin + count);
    BestKernels().of<T>().dequantize(q.data(), y.data(), &scale, nullptr, channels, begin, begin + count);
    T no_code;
    float no_value;
    std::memset(&no_code, kUntouched, sizeof(no_code));
    std::memset(&no_value, kUntouched, sizeof(no_value));
    for (size_t i = 0; i < x.size(); ++i) {
      const bool within = i >= begin && i < begin + count;
      const T code = within ? Code<T>(x[i], scale) : no_code;
      const float value = within ? Value(code, scale) : no_value;
      Check(std::memcmp(&q[i], &code, sizeof(T)) == 0, name, x[i], static_cast<double>(i), static_cast<double>(count));
      Check(BitsOf(y[i]) == BitsOf(value) || (std::isnan(y[i]) && std::isnan(value)), name, x[i], y[i], value);
    }
  }
}

}  // namespace

int main() {
  return checks::Run([] {
    TestEveryPattern<Float16>("float16 patterns");
    TestEveryPattern<BFloat16>("bfloat16 patterns");
    TestHalfLayouts<Float16>("float16");
    TestHalfLayouts<BFloat16>("bfloat16");
    TestTies<uint8_t>("uint8 ties");
    TestTies<int8_t>("int8 ties");
    TestTies<uint16_t>("uint16 ties");
    TestTies<int16_t>("int16 ties");
    TestIntegers<uint8_t>("uint8");
    TestIntegers<int8_t>("int8");
    TestIntegers<uint16_t>("uint16");
    TestIntegers<int16_t>("int16");
    TestIntegers<uint32_t>("uint32");
    TestIntegers<int32_t>("int32");
    TestEveryCount<uint8_t>("uint8 counts");
    TestEveryCount<int8_t>("int8 counts");
    TestEveryCount<uint16_t>("uint16 counts");
    TestEveryCount<int16_t>("int16 counts");
    TestEveryCount<uint32_t>("uint32 counts");
    TestEveryCount<int32_t>("int32 counts");
    TestEveryCount<Float16>("float16 counts");
    TestEveryCount<BFloat16>("bfloat16 counts");
  });
}
