// The table of kernels of one instruction set, and the choice among the tables at load.
// SPDX-License-Identifier: MIT
//
// Every kernel works on the elements [begin, end) of a tensor laid out as `channels`, so that any split over threads
// gives the same bits. `scale` holds channels.length values; `zero_point` as many, or is null for zero.

#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/axis_view.h"
#include "kernels/bfloat16.h"
#include "kernels/block_format.h"
#include "kernels/float16.h"

namespace vitis {

template <class T>
struct TypedKernels {
  void (*quantize)(const float* x, T* y, const float* scale, const T* zero_point, const AxisView& channels,
                   size_t begin, size_t end);
  void (*dequantize)(const T* x, float* y, const float* scale, const T* zero_point, const AxisView& channels,
                     size_t begin, size_t end);
};

struct Kernels : TypedKernels<uint8_t>,
                 TypedKernels<int8_t>,
                 TypedKernels<uint16_t>,
                 TypedKernels<int16_t>,
                 TypedKernels<uint32_t>,
                 TypedKernels<int32_t>,
                 TypedKernels<Float16>,
                 TypedKernels<BFloat16> {
  const char* name;
  // `low` and `high` are the saturation bounds minus the zero point, one pair per channel.
  void (*fix_neuron)(const float* x, float* y, const float* scale, const double* low, const double* high,
                     const AxisView& channels, size_t begin, size_t end);
  // Here [begin, end) counts blocks that share an exponent, format.CountBlocks(lines) in all, the last axis fastest.
  void (*block_quantize)(const float* x, float* y, const BlockFormat& format, const AxisView& lines, size_t begin,
                         size_t end);

  template <class T>
  const TypedKernels<T>& of() const {
    return *this;
  }
};

namespace baseline {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}

// The fastest table that this processor runs. For tests, ORT_VITIS_ISA=baseline|avx2|avx512 caps the choice.
const Kernels& BestKernels();

}  // namespace vitis
