// Attributes of the ops that quantize blocks, under AMD Quark's names and with its defaults.
// SPDX-License-Identifier: MIT

#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/block_format.h"
#include "ops/attributes.h"

namespace vitis {

inline size_t BlockSizeOf(const NodeInfo& info, const char* name, int64_t missing) {
  return static_cast<size_t>(IntegerOf(info, name, missing, 1, INT64_MAX));
}

inline Rounding RoundingOf(const NodeInfo& info) {
  return static_cast<Rounding>(IntegerOf(info, "rounding_mode", 0, 0, 2));
}

// bit_width counts the 8 bits of the shared exponent, a sign, and the m bits of a magnitude.
inline BlockFormat BlockFloatingPointOf(const NodeInfo& info) {
  BlockFormat format;
  const std::string method = TextOf(info, "bfp_method", "to_bfp");
  if (method == "to_bfp_prime") {
    format.kind = BlockFormat::kShifted;
  } else if (method != "to_bfp") {
    throw OpError("bfp_method is '" + method + "'; it must be 'to_bfp' or 'to_bfp_prime'");
  }
  format.block = BlockSizeOf(info, "block_size", 8);
  format.mantissa = static_cast<int>(IntegerOf(info, "bit_width", 16, 10, 32)) - 9;
  format.rounding = RoundingOf(info);
  format.sub_block = BlockSizeOf(info, "sub_block_size", 2);
  format.shift = (1 << IntegerOf(info, "sub_block_shift_bits", 1, 0, 6)) - 1;
  for (const char* name : {"convert_to_bfloat_before_bfp", "use_compiler_version_cpu_kernel"}) {
    IntegerOf(info, name, 0, 0, 0);
  }
  if (format.kind == BlockFormat::kShifted && format.block % format.sub_block != 0) {
    throw OpError("sub_block_size is " + std::to_string(format.sub_block) + "; it must divide block_size, which is " +
                  std::to_string(format.block));
  }
  return format;
}

// The element types of the Open Compute MX specification 1.0, section 5.3.
struct ElementType {
  const char* name;
  int mantissa;
  int emax;
  int emin;
  float largest;
};
inline constexpr std::array<ElementType, 5> kElementFloats{{{"fp8_e5m2", 2, 15, -14, 57344.0f},
                                                            {"fp8_e4m3", 3, 8, -6, 448.0f},
                                                            {"fp6_e3m2", 2, 4, -2, 28.0f},
                                                            {"fp6_e2m3", 3, 2, 0, 7.5f},
                                                            {"fp4_e2m1", 1, 2, 0, 6.0f}}};

inline BlockFormat MicroscalingOf(const NodeInfo& info) {
  BlockFormat format;
  format.block = BlockSizeOf(info, "block_size", 32);
  format.rounding = RoundingOf(info);
  const std::string name = TextOf(info, "element_dtype", "int8");
  if (name == "int8") {
    format.kind = BlockFormat::kTwosComplement;
    return format;
  }
  format.kind = BlockFormat::kFloat;
  std::string names = "'int8'";
  for (const ElementType& element : kElementFloats) {
    if (name == element.name) {
      format.mantissa = element.mantissa;
      format.emax = element.emax;
      format.emin = element.emin;
      format.largest = element.largest;
      return format;
    }
    names += std::string(", '") + element.name + "'";
  }
  throw OpError("element_dtype is '" + name + "'; it must be one of " + names);
}

}  // namespace vitis
