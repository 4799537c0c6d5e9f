// Cuts a range of a tensor into runs that share one scale, or that have one scale per element.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstddef>

#include "kernels/axis_view.h"

namespace vitis {
namespace VITIS_ISA {

// uniform(first, count, channel): these elements share the channel's scale.
// varying(first, count, channel): element i of these has the scale of channel + i (the axis is the last one).
template <class Uniform, class Varying>
void Walk(const AxisView& channels, size_t begin, size_t end, Uniform uniform, Varying varying) {
  if (channels.length == 1) {
    if (begin < end) uniform(begin, end - begin, size_t{0});
    return;
  }
  while (begin < end) {
    const size_t row = begin / channels.inner;
    const size_t channel = row % channels.length;
    if (channels.inner == 1) {
      const size_t left = channels.length - channel;
      const size_t count = left < end - begin ? left : end - begin;
      varying(begin, count, channel);
      begin += count;
    } else {
      const size_t left = (row + 1) * channels.inner - begin;
      const size_t count = left < end - begin ? left : end - begin;
      uniform(begin, count, channel);
      begin += count;
    }
  }
}

}  // namespace VITIS_ISA
}  // namespace vitis
