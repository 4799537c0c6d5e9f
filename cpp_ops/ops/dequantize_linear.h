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
    const Tensor x = context.Input(0);
    const Tensor scale = context.Input(1);
    const Tensor zero_point = context.Input(2);
    const Blocks blocks = MakeBlocks(x, scale, zero_point, axis_);
    const float* scales = scale.data<float>();
    CheckScales(scales, scale.size);
    const T* in = x.data<T>();
    const T* zero_points = zero_point.data<T>();
    float* out = context.Output<float>(0, x.shape);
    const auto dequantize = BestKernels().of<T>().dequantize;
    context.ParallelFor(
        x.size, [&](size_t begin, size_t end) { dequantize(in, out, scales, zero_points, blocks, begin, end); });
  }

  static void InferShape(const ShapeContext& context) { context.OutputLikeInput(ort::kFloat); }

 private:
  int64_t axis_;
};

}  // namespace vitis
