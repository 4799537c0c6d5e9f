// Cuts a range of a tensor into runs that share one scale, or that have one scale per element.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>

#include "kernels/blocks.h"

namespace vitis {
namespace VITIS_ISA {

// uniform(first, count, channel): these elements share the channel's scale.
// varying(first, count, channel): element i of these has the scale of channel + i (the axis is the last one).
template <class Uniform, class Varying>
void Walk(const Blocks& blocks, size_t begin, size_t end, Uniform uniform, Varying varying) {
  if (blocks.channel == 1) {
    if (begin < end) uniform(begin, end - begin, size_t{0});
    return;
  }
  while (begin < end) {
    const size_t row = begin / blocks.inner;
    const size_t channel = row % blocks.channel;
    if (blocks.inner == 1) {
      const size_t left = blocks.channel - channel;
      const size_t count = left < end - begin ? left : end - begin;
      varying(begin, count, channel);
      begin += count;
    } else {
      const size_t left = (row + 1) * blocks.inner - begin;
      const size_t count = left < end - begin ? left : end - begin;
      uniform(begin, count, channel);
      begin += count;
    }
  }
}

}  // namespace VITIS_ISA
}  // namespace vitis
