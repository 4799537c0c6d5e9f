// A tensor seen as lines along one axis: outer x length x inner elements, and a line's elements lie `inner` apart.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>

namespace vitis {

struct Lines {
  size_t outer = 1;
  size_t length = 1;
  size_t inner = 1;

  size_t size() const { return outer * length * inner; }
};

}  // namespace vitis
