// Scale, zero point and axis of a quantizing node, checked once per call.
// SPDX-License-Identifier: MIT

#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "kernels/channels.h"
#include "ops/op.h"

namespace vitis {

inline std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

inline void CheckScales(const float* scale, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (std::isfinite(scale[i]) && scale[i] > 0.0f) continue;
    char value[32];
    std::snprintf(value, sizeof(value), "%g", static_cast<double>(scale[i]));
    throw OpError("scale[" + std::to_string(i) + "] is " + value + "; every scale must be a positive finite number");
  }
}

// One scale is per tensor, whatever the axis; otherwise there is one per index of the axis.
inline Channels ChannelsOf(const Tensor& x, const Tensor& scale, const Tensor& zero_point, int64_t axis) {
  if (zero_point.value && zero_point.size != scale.size) {
    throw OpError("zero_point has " + std::to_string(zero_point.size) + " elements and scale has " +
                  std::to_string(scale.size) + "; both must have the same number");
  }
  Channels channels;
  if (scale.size == 1) {
    channels.inner = x.size;
    return channels;
  }
  const int64_t rank = static_cast<int64_t>(x.shape.size());
  if (axis < -rank || axis >= rank) {
    throw OpError("axis " + std::to_string(axis) + " is out of range for an input of shape " + ShapeText(x.shape) +
                  " with " + std::to_string(scale.size) + " scales; it must lie in [" + std::to_string(-rank) + ", " +
                  std::to_string(rank - 1) + "]");
  }
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  if (scale.shape.size() != 1 || static_cast<size_t>(x.shape[at]) != scale.size) {
    throw OpError("scale has shape " + ShapeText(scale.shape) + " and the input has shape " + ShapeText(x.shape) +
                  "; scale must be a scalar, or 1-D with " + std::to_string(x.shape[at]) + " values for axis " +
                  std::to_string(axis));
  }
  channels.inner = 1;
  for (size_t i = 0; i < at; ++i) channels.outer *= static_cast<size_t>(x.shape[i]);
  channels.count = static_cast<size_t>(x.shape[at]);
  for (size_t i = at + 1; i < x.shape.size(); ++i) channels.inner *= static_cast<size_t>(x.shape[i]);
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
  Channels channels;
};

inline int64_t AxisOf(const NodeInfo& info) {
  int64_t axis = 1;  // ONNX's default
  info.Get("axis", &axis);
  return axis;
}

}  // namespace vitis
