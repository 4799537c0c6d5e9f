// The upper half of a float32; conversion is the kernels' business.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>

namespace vitis {

struct BFloat16 {
  uint16_t bits;
};

}  // namespace vitis
