// A tensor seen as outer x count x inner elements: channel c of count has its own scale; per tensor means one.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>

namespace vitis {

struct Channels {
  size_t outer = 1;
  size_t count = 1;
  size_t inner = 0;

  size_t size() const { return outer * count * inner; }
};

}  // namespace vitis
