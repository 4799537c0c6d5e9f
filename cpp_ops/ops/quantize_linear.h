// VitisQuantizeLinear(x, scale, zero_point) -> y of the zero point's type; attribute axis, 1 by default.
// SPDX-License-Identifier: MIT

#pragma once

#include "kernels/kernels.h"
#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/parameters.h"

namespace vitis {

template <class T>
class QuantizeLinearOp {
 public:
  static constexpr std::array<int, 3> kInputs{ort::kFloat, ort::kFloat, kElementType<T>};
  static constexpr std::array<int, 1> kOutputs{kElementType<T>};
  static constexpr size_t kRequired = 2;

  explicit QuantizeLinearOp(const NodeInfo& info) : axis_(AxisOf(info)) {}

  void Compute(const Context& context) const {
    const Operands<T> operands(context, axis_);
    const float* in = operands.x.template data<float>();
    T* out = context.Output<T>(0, operands.x.shape);
    const auto quantize = BestKernels().of<T>().quantize;
    context.ParallelFor(operands.x.size, [&](size_t begin, size_t end) {
      quantize(in, out, operands.scales, operands.zero_points, operands.channels, begin, end);
    });
  }

  static void InferShape(const ShapeContext& context) { context.OutputLikeInput(context.ElementType(2, ort::kUint8)); }

 private:
  int64_t axis_;
};

}  // namespace vitis
