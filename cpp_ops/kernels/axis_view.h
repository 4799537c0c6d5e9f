// A tensor seen around one axis: outer x length x inner elements, neighbours along the axis lie `inner` apart.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>

namespace vitis {

// A tensor of one scale, or a vector, is a single row: its elements lie along the axis, or inside of it.
struct AxisView {
  size_t outer = 1;
  size_t length = 1;
  size_t inner = 1;

  size_t size() const { return outer * length * inner; }
};

}  // namespace vitis
