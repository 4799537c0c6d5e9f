// Plain C functions over sketches, for ctypes. A sketch is a number; failures are 0 or negative, nothing is thrown.
// SPDX-License-Identifier: MIT

#include <cstring>
#include <new>

#include "sketch/registry.h"

#if defined(_WIN32)
#define VITIS_EXPORT extern "C" __declspec(dllexport)
#else
#define VITIS_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace {

// 1 if the sketch exists and `body` went through, 0 if it does not exist, -1 without memory.
template <class Body>
int With(int64_t number, Body body) noexcept {
  try {
    const auto sketch = vitis::FindSketch(number);
    return sketch ? (body(*sketch), 1) : 0;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

}  // namespace

VITIS_EXPORT int64_t ort_vitis_sketch_new() {
  try {
    return vitis::NewSketch();
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

VITIS_EXPORT void ort_vitis_sketch_free(int64_t number) { vitis::FreeSketch(number); }

VITIS_EXPORT int ort_vitis_sketch_add_f32(int64_t number, const void* values, size_t count) {
  return With(number, [=](vitis::Sketch& sketch) { sketch.Add(static_cast<const float*>(values), count); });
}

VITIS_EXPORT int ort_vitis_sketch_add_f16(int64_t number, const void* values, size_t count) {
  return With(number, [=](vitis::Sketch& sketch) { sketch.Add(static_cast<const vitis::Float16*>(values), count); });
}

VITIS_EXPORT int ort_vitis_sketch_add_bf16(int64_t number, const void* values, size_t count) {
  return With(number, [=](vitis::Sketch& sketch) { sketch.Add(static_cast<const vitis::BFloat16*>(values), count); });
}

VITIS_EXPORT int ort_vitis_sketch_add_f64(int64_t number, const void* values, size_t count) {
  return With(number, [=](vitis::Sketch& sketch) { sketch.Add(static_cast<const double*>(values), count); });
}

// counts[0]: NaN, counts[1]: Inf.
VITIS_EXPORT int ort_vitis_sketch_non_finite(int64_t number, uint64_t* counts) {
  return With(number, [=](vitis::Sketch& sketch) { sketch.NonFinite(&counts[0], &counts[1]); });
}

// Writes the saved bytes if `capacity` suffices and returns how many there are; call it with 0 to learn the size.
VITIS_EXPORT int64_t ort_vitis_sketch_save(int64_t number, void* bytes, size_t capacity) {
  int64_t size = 0;
  const int done = With(number, [&](vitis::Sketch& sketch) {
    const std::vector<uint8_t> saved = sketch.Save();
    if (saved.size() <= capacity) std::memcpy(bytes, saved.data(), saved.size());
    size = static_cast<int64_t>(saved.size());
  });
  return done == 1 ? size : done - 1;
}

VITIS_EXPORT int ort_vitis_sketch_clear(int64_t number) {
  return With(number, [](vitis::Sketch& sketch) { sketch.Clear(); });
}

// Adds saved bytes; -2 if they are not those of a sketch.
VITIS_EXPORT int ort_vitis_sketch_merge(int64_t number, const void* bytes, size_t size) {
  bool read = true;
  const int done = With(number, [&](vitis::Sketch& sketch) {
    read = sketch.Merge(static_cast<const uint8_t*>(bytes), size);
  });
  return read ? done : -2;
}
