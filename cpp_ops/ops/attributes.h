// Attributes of a node, of the type that they must have.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <string>

#include "ops/op.h"

namespace vitis {

// An integer attribute in [low, high], or `missing` where the node does not have it.
inline int64_t IntegerOf(const NodeInfo& info, const char* name, int64_t missing, int64_t low, int64_t high) {
  int64_t value = missing;
  std::string text;
  if (!info.Get(name, &value) && info.Get(name, &text)) {
    throw OpError(std::string(name) + " is '" + text + "'; it must be an integer");
  }
  if (value < low || value > high) {
    std::string bounds = std::to_string(low);
    if (high == INT64_MAX) bounds = "an integer of at least " + bounds;
    if (low < high && high < INT64_MAX) bounds = "an integer from " + bounds + " to " + std::to_string(high);
    throw OpError(std::string(name) + " is " + std::to_string(value) + "; it must be " + bounds);
  }
  return value;
}

inline std::string TextOf(const NodeInfo& info, const char* name, const char* missing) {
  std::string value = missing;
  int64_t number = 0;
  if (!info.Get(name, &value)) {
    if (info.Get(name, &number)) {
      throw OpError(std::string(name) + " is " + std::to_string(number) + "; it must be a string");
    }
    value = missing;
  }
  return value;
}

}  // namespace vitis
