// One copy of the kernels; CMake compiles this file once per instruction set, with VITIS_ISA as its namespace.
// SPDX-License-Identifier: MIT

#include "kernels/kernels.h"

#include "kernels/block_quantize.h"
#include "kernels/dequantize_linear.h"
#include "kernels/fix_neuron.h"
#include "kernels/quantize_linear.h"

#define VITIS_TEXT(name) #name
#define VITIS_NAME(name) VITIS_TEXT(name)

namespace vitis {
namespace VITIS_ISA {

template <class T>
constexpr TypedKernels<T> Typed() {
  return {QuantizeLinear<T>, DequantizeLinear<T>};
}

extern const Kernels kKernels = {
    Typed<uint8_t>(), Typed<int8_t>(),   Typed<uint16_t>(),     Typed<int16_t>(), Typed<uint32_t>(), Typed<int32_t>(),
    Typed<Float16>(), Typed<BFloat16>(), VITIS_NAME(VITIS_ISA), FixNeuron,        BlockQuantize,
};

}  // namespace VITIS_ISA
}  // namespace vitis
