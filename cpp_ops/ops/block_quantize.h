// BFPFixNeuron(x) and MXFixNeuron(x) -> float: quantized and dequantized at once in blocks along attribute axis.
// SPDX-License-Identifier: MIT
//
// The axis is 1 by default; a vector has only one, whatever the attribute says. A tensor of one element is copied.

#pragma once

#include "kernels/kernels.h"
#include "ops/block_attributes.h"
#include "ops/op.h"
#include "ops/parameters.h"

namespace vitis {

inline Lines LinesOf(const Tensor& x, int64_t axis) {
  const int64_t rank = static_cast<int64_t>(x.shape.size());
  Lines lines;
  if (rank <= 1) {
    lines.length = x.size;
    return lines;
  }
  if (axis < -rank || axis >= rank) {
    throw OpError("axis " + std::to_string(axis) + " is out of range for an input of shape " + ShapeText(x.shape) +
                  "; it must lie in [" + std::to_string(-rank) + ", " + std::to_string(rank - 1) + "]");
  }
  const size_t at = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  for (size_t i = 0; i < at; ++i) lines.outer *= static_cast<size_t>(x.shape[i]);
  lines.length = static_cast<size_t>(x.shape[at]);
  for (size_t i = at + 1; i < x.shape.size(); ++i) lines.inner *= static_cast<size_t>(x.shape[i]);
  return lines;
}

// FormatOf reads the attributes that say what a block is.
template <BlockFormat (*FormatOf)(const NodeInfo&)>
class BlockQuantizeOp {
 public:
  static constexpr std::array<int, 1> kInputs{ort::kFloat};
  static constexpr std::array<int, 1> kOutputs{ort::kFloat};
  static constexpr size_t kRequired = 1;

  explicit BlockQuantizeOp(const NodeInfo& info)
      : format_(FormatOf(info)), axis_(IntegerOf(info, "axis", 1, INT64_MIN, INT64_MAX)) {}

  void Compute(const Context& context) const {
    const Tensor x = context.Input(0);
    const Lines lines = LinesOf(x, axis_);
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
