// BFPFixNeuron(x) and MXFixNeuron(x) -> float: quantized and dequantized at once in blocks along attribute axis.
// SPDX-License-Identifier: MIT
//
// The axis is 1 by default; a vector has only one, whatever the attribute says. A tensor of one element is copied.

#pragma once

#include "kernels/kernels.h"
#include "ops/axis.h"
#include "ops/block_attributes.h"
#include "ops/op.h"

namespace vitis {

inline AxisView LinesOf(const Tensor& x, int64_t axis) {
  if (x.shape.size() <= 1) return {1, x.size, 1};
  return ViewAlong(x, axis);
}

// FormatOf reads the attributes that say what a block is.
template <BlockFormat (*FormatOf)(const NodeInfo&)>
class BlockQuantizeOp {
 public:
  static constexpr std::array<int, 1> kInputs{ort::kFloat};
  static constexpr std::array<int, 1> kOutputs{ort::kFloat};
  static constexpr size_t kRequired = 1;

  explicit BlockQuantizeOp(const NodeInfo& info) : format_(FormatOf(info)), axis_(AxisOf(info)) {}

  void Compute(const Context& context) const {
    const Tensor x = context.Input(0);
    const AxisView lines = LinesOf(x, axis_);
    const float* in = x.template data<float>();
    float* out = context.Output<float>(0, x.shape);
    if (x.size == 1) *out = *in;
    if (x.size <= 1) return;
    const size_t block = format_.block < lines.length ? format_.block : lines.length;
    const size_t grain = block < Context::kGrain ? Context::kGrain / block : 1;
    const auto quantize = BestKernels().block_quantize;
    context.ParallelFor(
        format_.CountBlocks(lines), [&](size_t begin, size_t end) { quantize(in, out, format_, lines, begin, end); },
        grain);
  }

  static void InferShape(const ShapeContext& context) { context.OutputLikeInput(ort::kFloat); }

 private:
  BlockFormat format_;
  int64_t axis_;
};

using BlockFloatingPointOp = BlockQuantizeOp<BlockFloatingPointOf>;
using MicroscalingOp = BlockQuantizeOp<MicroscalingOf>;

}  // namespace vitis
