// Attribute axis of a node, checked against the shape of what it splits.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/axis_view.h"
#include "ops/attributes.h"

namespace vitis {

inline std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + std::to_string(shape[i]);
  return text + "]";
}

inline int64_t AxisOf(const NodeInfo& info) { return IntegerOf(info, "axis", 1, INT64_MIN, INT64_MAX); }

// `with` ends the name of the input in the error: " with 3 scales".
inline AxisView ViewAlong(const Tensor& x, int64_t axis, const std::string& with = "") {
  const int64_t rank = static_cast<int64_t>(x.shape.size());
  if (axis < -rank || axis >= rank) {
    throw OpError("axis " + std::to_string(axis) + " is out of range for an input of shape " + ShapeText(x.shape) +
                  with + "; it must lie in [" + std::to_string(-rank) + ", " + std::to_string(rank - 1) + "]");
  }
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  AxisView view;
  for (size_t i = 0; i < at; ++i) view.outer *= static_cast<size_t>(x.shape[i]);
  view.length = static_cast<size_t>(x.shape[at]);
  for (size_t i = at + 1; i < x.shape.size(); ++i) view.inner *= static_cast<size_t>(x.shape[i]);
  return view;
}

}  // namespace vitis
