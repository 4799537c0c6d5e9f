// Picks the copy of the kernels that this processor runs best.
// SPDX-License-Identifier: MIT

#include <cstdlib>
#include <cstring>

#include "kernels/kernels.h"

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

namespace vitis {
namespace {

enum Level { kBaseline, kAvx2, kAvx512 };

#if !defined(VITIS_X86_COPIES)
Level ProcessorLevel() { return kBaseline; }
#elif defined(_MSC_VER) && !defined(__clang__)
Level ProcessorLevel() {
  int leaf1[4];
  int leaf7[4];
  __cpuid(leaf1, 0);
  if (leaf1[0] < 7) return kBaseline;
  __cpuid(leaf1, 1);
  __cpuidex(leaf7, 7, 0);
  constexpr int kFmaXsaveAvxF16c = 1 << 12 | 1 << 27 | 1 << 28 | 1 << 29;
  constexpr int kAvx2Bmi2 = 1 << 5 | 1 << 8;
  constexpr int kAvx512Set = 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | static_cast<int>(1u << 31);  // F DQ CD BW VL
  if ((leaf1[2] & kFmaXsaveAvxF16c) != kFmaXsaveAvxF16c || (leaf7[1] & kAvx2Bmi2) != kAvx2Bmi2) return kBaseline;
  const unsigned long long enabled = _xgetbv(0);
  if ((enabled & 0x06) != 0x06) return kBaseline;
  return (leaf7[1] & kAvx512Set) == kAvx512Set && (enabled & 0xe6) == 0xe6 ? kAvx512 : kAvx2;
}
#else
Level ProcessorLevel() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2")) {
    return kBaseline;
  }
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? kAvx512 : kAvx2;
}
#endif

Level Cap() {
  const char* cap = std::getenv("ORT_VITIS_ISA");
  if (cap && std::strcmp(cap, "baseline") == 0) return kBaseline;
  if (cap && std::strcmp(cap, "avx2") == 0) return kAvx2;
  return kAvx512;
}

const Kernels& Choose() {
  const Level processor = ProcessorLevel();
  const Level cap = Cap();
  const Level level = processor < cap ? processor : cap;
#if defined(VITIS_X86_COPIES)
  if (level == kAvx512) return avx512::kKernels;
  if (level == kAvx2) return avx2::kKernels;
#endif
  (void)level;
  return baseline::kKernels;
}

}  // namespace

const Kernels& BestKernels() {
  static const Kernels& kernels = Choose();
  return kernels;
}

}  // namespace vitis
