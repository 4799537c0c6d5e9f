// The sketch's loops against the plainest ones: any number of values, with many zeros and none, finite and not.
// SPDX-License-Identifier: MIT

#include "sketch/kernels/count.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "checks.h"

namespace {

using checks::BitsOf;
using checks::Check;
using checks::FromBits;
using vitis::CountKernels;
using vitis::kLanes;

const CountKernels& Chosen() {
#if defined(__x86_64__) || defined(_M_X64)
  if (std::strcmp(vitis::BestKernels().name, "avx512") == 0) return vitis::avx512::kCountKernels;
  if (std::strcmp(vitis::BestKernels().name, "avx2") == 0) return vitis::avx2::kCountKernels;
#endif
  return vitis::baseline::kCountKernels;
}

// Normal values, of which `zeros` in a hundred are 0.0 or -0.0; some subnormal, huge and tiny ones among them.
std::vector<float> Values(size_t count, unsigned zeros, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    const uint32_t dice = static_cast<uint32_t>(random());
    value = normal(random);
    if (dice % 50 == 0) value = FromBits(dice >> 9);
    if (dice % 50 == 1) value *= 1e38f;
    if (dice % 50 == 2) value *= 1e-37f;
    if (dice / 64 % 100 < zeros) value = dice % 8 == 0 ? -0.0f : 0.0f;
    if (std::isinf(value)) value = std::numeric_limits<float>::max();
  }
  return values;
}

void TestCount() {
  std::mt19937 random(1);
  std::vector<uint64_t> table(vitis::kKeys);
  std::vector<uint64_t> plain(vitis::kKeys);
  for (const unsigned zeros : {0u, 5u, 30u, 60u, 100u}) {
    for (size_t count = 0; count <= vitis::kBlock; count += count < 150 ? 1 : 97) {
      std::vector<float> values = Values(count, zeros, random);
      for (size_t i = 0; i < count; i += 13) values[i] = FromBits(static_cast<uint32_t>(random()));
      Chosen().count(values.data(), count, table.data());
      for (const float value : values) plain[BitsOf(value) >> vitis::kLowBits] += vitis::kOne + BitsOf(value);
    }
  }
  for (size_t key = 0; key < vitis::kKeys; ++key) {
    Check(table[key] == plain[key], "word", key, static_cast<double>(table[key]), static_cast<double>(plain[key]));
  }
}

void TestScan() {
  std::mt19937 random(2);
  for (const unsigned zeros : {0u, 60u}) {
    for (size_t count = kLanes; count <= vitis::kBlock; count += kLanes) {
      std::vector<float> values = Values(2 * count, zeros, random);
      vitis::Scan scan;
      double squares[kLanes] = {};
      float least = values[0];
      float greatest = values[0];
      for (size_t i = 0; i < values.size(); ++i) {
        squares[i % kLanes] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
        least = values[i] < least ? values[i] : least;
        greatest = values[i] > greatest ? values[i] : greatest;
      }
      for (size_t at = 0; at < values.size(); at += count) {
        Check(Chosen().scan(values.data() + at, count, &scan), "finite", count, 0, 1);
      }
      for (size_t lane = 0; lane < kLanes; ++lane) {
        Check(scan.squares[lane] == squares[lane], "squares", lane, scan.squares[lane], squares[lane]);
      }
      const float low = FromBits(static_cast<uint32_t>(vitis::OrderOf(scan.least)));
      const float high = FromBits(static_cast<uint32_t>(vitis::OrderOf(scan.greatest)));
      Check(low == least, "least", count, low, least);
      Check(high == greatest, "greatest", count, high, greatest);

      const size_t place = random() % count;
      for (const uint32_t pattern : {0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffffffffu, 0x7f800001u}) {
        values[place] = FromBits(pattern);
        Check(!Chosen().scan(values.data(), count, &(scan = vitis::Scan())), "not finite", place, 1, 0);
      }
    }
  }
}

}  // namespace

int main() {
  return checks::Run([] {
    TestCount();
    TestScan();
  });
}
