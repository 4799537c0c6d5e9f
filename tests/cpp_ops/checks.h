// A test without a framework: it prints the first failed checks and their number, for the copy that ORT_VITIS_ISA picks.
// SPDX-License-Identifier: MIT

#ifndef ORT_VITIS_TESTS_CHECKS_H_
#define ORT_VITIS_TESTS_CHECKS_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/kernels.h"

namespace checks {

inline int failures = 0;

// `where` is what the check was of: an input, an index, a count.
inline void Check(bool good, const char* what, double where, double got, double want) {
  if (good) return;
  if (++failures <= 20) std::printf("FAILED %s: at %.9g got %.17g want %.17g\n", what, where, got, want);
}

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float FromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The exit status: CTest skips at 77.
inline int Run(void (*all)()) {
  const char* wanted = std::getenv("ORT_VITIS_ISA");
  if (wanted && std::strcmp(wanted, vitis::BestKernels().name) != 0) {
    std::printf("skipped: this processor does not run %s\n", wanted);
    return 77;
  }
  all();
  std::printf("%s: %d failed checks\n", vitis::BestKernels().name, failures);
  return failures != 0;
}

}  // namespace checks

#endif  // ORT_VITIS_TESTS_CHECKS_H_
