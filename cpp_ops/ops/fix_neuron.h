// FixNeuron(x, scale, zero_point) -> float: quantized and dequantized at once.
// SPDX-License-Identifier: MIT
//
// Attribute bit_width (an int, or a string as the original writer gives it; 8 by default) sets the range, the zero
// point's type says whether it is signed. Attribute axis as in VitisQuantizeLinear. Attribute pos is for readers.

#pragma once

#include <cstdlib>

#include "kernels/kernels.h"
#include "ops/dispatch.h"
#include "ops/op.h"
#include "ops/parameters.h"

namespace vitis {

inline int BitWidthOf(const NodeInfo& info) {
  int64_t width = 8;
  std::string text;
  if (!info.Get("bit_width", &width) && info.Get("bit_width", &text)) {
    char* end = nullptr;
    width = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end) throw OpError("bit_width is '" + text + "'; it must be an integer from 1 to 32");
  }
  if (width < 1 || width > 32) {
    throw OpError("bit_width is " + std::to_string(width) + "; it must be an integer from 1 to 32");
  }
  return static_cast<int>(width);
}

template <class T>
class FixNeuronOp {
 public:
  static constexpr std::array<int, 3> kInputs{ort::kFloat, ort::kFloat, kElementType<T>};
  static constexpr std::array<int, 1> kOutputs{ort::kFloat};
  static constexpr size_t kRequired = 2;

  explicit FixNeuronOp(const NodeInfo& info) : axis_(AxisOf(info)) {
    constexpr bool kSigned = static_cast<T>(-1) < T{1};
    const int64_t codes = int64_t{1} << BitWidthOf(info);
    low_ = static_cast<double>(kSigned ? -codes / 2 : 0);
    high_ = static_cast<double>(kSigned ? codes / 2 - 1 : codes - 1);
  }

  void Compute(const Context& context) const {
    const Operands<T> operands(context, axis_);
    std::vector<double> low(operands.scale.size, low_);
    std::vector<double> high(operands.scale.size, high_);
    for (size_t i = 0; operands.zero_points && i < operands.scale.size; ++i) {
      low[i] -= static_cast<double>(operands.zero_points[i]);
      high[i] -= static_cast<double>(operands.zero_points[i]);
    }
    const float* in = operands.x.template data<float>();
    float* out = context.Output<float>(0, operands.x.shape);
    const auto fix_neuron = BestKernels().fix_neuron;
    context.ParallelFor(operands.x.size, [&](size_t begin, size_t end) {
      fix_neuron(in, out, operands.scales, low.data(), high.data(), operands.channels, begin, end);
    });
  }

  static void InferShape(const ShapeContext& context) { context.OutputLikeInput(ort::kFloat); }

 private:
  int64_t axis_;
  double low_;
  double high_;
};

}  // namespace vitis
