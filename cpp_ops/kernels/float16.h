// IEEE half precision stored in 16 bits; conversion is the kernels' business.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>

namespace vitis {

struct Float16 {
  uint16_t bits;
};

}  // namespace vitis
