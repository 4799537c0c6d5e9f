// Scale, zero point and axis of a quantizing node, checked once per call.
// SPDX-License-Identifier: MIT

#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "ops/axis.h"

namespace vitis {

inline void CheckScales(const float* scale, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (std::isfinite(scale[i]) && scale[i] > 0.0f) continue;
    char value[32];
    std::snprintf(value, sizeof(value), "%g", static_cast<double>(scale[i]));
    throw OpError("scale[" + std::to_string(i) + "] is " + value + "; every scale must be a positive finite number");
  }
}

// One scale is per tensor, whatever the axis; otherwise there is one per index of the axis.
inline AxisView ChannelsOf(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
  if (zero_point.value && zero_point.size != scale.size) {
    throw OpError("zero_point has " + std::to_string(zero_point.size) + " elements and scale has " +
                  std::to_string(scale.size) + "; both must have the same number");
  }
  if (scale.size == 1) return {1, 1, x.size};
  const AxisView channels = ViewAlong(x, axis, " with " + std::to_string(scale.size) + " scales");
  if (scale.shape.size() != 1 || channels.length != scale.size) {
    throw OpError("scale has shape " + ShapeText(scale.shape) + " and the input has shape " + ShapeText(x.shape) +
                  "; scale must be a scalar, or 1-D with " + std::to_string(channels.length) + " values for axis " +
                  std::to_string(axis));
  }
  return channels;
}

// What such a node reads: x, scales that are good, zero points (nullptr without any), and where in x each scale holds.
template <class T>
struct Operands {
  Operands(const Context& context, int64_t axis)
      : x(context.Input(0)), scale(context.Input(1)), zero_point(context.Input(2)) {
    channels = ChannelsOf(x, scale, zero_point, axis);
    CheckScales(scales, scale.size);
  }

  Tensor x;
  Tensor scale;
  Tensor zero_point;
  const float* scales = scale.data<float>();
  const T* zero_points = zero_point.data<T>();
  AxisView channels;
};

}  // namespace vitis
