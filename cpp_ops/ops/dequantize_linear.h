// VitisDequantizeLinear(x, scale, zero_point) -> float; attribute axis, 1 by default.
// SPDX-License-Identifier: MIT

#pragma once

#include "kernels/kernels.h"
#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/parameters.h"

namespace vitis {

template <class T>
class DequantizeLinearOp {
 public:
  static constexpr std::array<int, 3> kInputs{kElementType<T>, ort::kFloat, kElementType<T>};
  static constexpr std::array<int, 1> kOutputs{ort::kFloat};
  static constexpr size_t kRequired = 2;

  explicit DequantizeLinearOp(const NodeInfo& info) : axis_(AxisOf(info)) {}

  void Compute(const Context& context) const {
    const Operands<T> operands(context, axis_);
    const T* in = operands.x.template data<T>();
    float* out = context.Output<float>(0, operands.x.shape);
    const auto dequantize = BestKernels().of<T>().dequantize;
    context.ParallelFor(operands.x.size, [&](size_t begin, size_t end) {
      dequantize(in, out, operands.scales, operands.zero_points, operands.channels, begin, end);
    });
  }

  static void InferShape(const ShapeContext& context) { context.OutputLikeInput(ort::kFloat); }

 private:
  int64_t axis_;
};

}  // namespace vitis
