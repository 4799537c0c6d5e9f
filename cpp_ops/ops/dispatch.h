// The one place that maps a C++ storage type to its ONNX element type.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "ort_abi.h"

namespace vitis {

template <class T>
inline constexpr int kElementType = ort::kUndefined;
template <>
inline constexpr int kElementType<uint8_t> = ort::kUint8;
template <>
inline constexpr int kElementType<int8_t> = ort::kInt8;
template <>
inline constexpr int kElementType<uint16_t> = ort::kUint16;
template <>
inline constexpr int kElementType<int16_t> = ort::kInt16;
template <>
inline constexpr int kElementType<uint32_t> = ort::kUint32;
template <>
inline constexpr int kElementType<int32_t> = ort::kInt32;
template <>
inline constexpr int kElementType<Float16> = ort::kFloat16;
template <>
inline constexpr int kElementType<BFloat16> = ort::kBFloat16;

// Calls visit(T{}) for every type that FixNeuron takes. The first overload serves nodes without a zero point: int8.
template <class Visit>
void ForEachInteger(Visit visit) {
  visit(int8_t{});
  visit(uint8_t{});
  visit(uint16_t{});
  visit(int16_t{});
  visit(uint32_t{});
  visit(int32_t{});
}

// Calls visit(T{}) for every storage type; without a zero point ONNX quantizes to uint8.
template <class Visit>
void ForEachStorage(Visit visit) {
  visit(uint8_t{});
  visit(int8_t{});
  visit(uint16_t{});
  visit(int16_t{});
  visit(uint32_t{});
  visit(int32_t{});
  visit(Float16{});
  visit(BFloat16{});
}

}  // namespace vitis
