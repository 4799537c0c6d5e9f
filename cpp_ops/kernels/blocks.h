// A tensor seen as outer x channel x inner elements: channel c has its own scale; per tensor means one channel.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>

namespace vitis {

struct Blocks {
  size_t outer = 1;
  size_t channel = 1;
  size_t inner = 0;

  size_t size() const { return outer * channel * inner; }
};

}  // namespace vitis
