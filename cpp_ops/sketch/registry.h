// Sketches by number, so that Python, the C functions and the observers of a session mean the same one.
// SPDX-License-Identifier: MIT

#pragma once

#include <cstdint>
#include <memory>

#include "sketch/sketch.h"

namespace vitis {

// A number is never used twice. Whoever holds the pointer keeps the sketch alive after it was freed by number.
int64_t NewSketch();
std::shared_ptr<Sketch> FindSketch(int64_t number);
void FreeSketch(int64_t number);

}  // namespace vitis
