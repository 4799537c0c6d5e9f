// A tensor's values, counted by the upper 17 bits of their float32 pattern; ort_vitis_plugin/sketch/ says why.
// SPDX-License-Identifier: MIT
//
// The integers, the folded squares and the saved bytes are those of the Python class, bit for bit. Threads may add to
// one sketch at the same time: each counts in a table of its own, and what they counted adds up exactly.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/float16.h"
#include "sketch/exact_sum.h"
#include "sketch/kernels/count.h"

namespace vitis {

// Zeroed memory that is real only where it was touched.
class Table {
 public:
  Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  ~Table();
  uint64_t& operator[](size_t key) { return words_[key]; }
  uint64_t* words() { return words_; }

 private:
  uint64_t* words_;
};

class Sketch {
 public:
  // Squares are folded over pieces of this many values, counted from the start of every array given.
  static constexpr size_t kPiece = 32768;

  // All values of an array, by one thread.
  template <class T>
  void Add(const T* values, size_t count) {
    for (size_t begin = 0; begin < count; begin += kPiece) {
      AddPiece(values + begin, count - begin < kPiece ? count - begin : kPiece);
    }
  }

  // One piece: kPiece values, or the rest of the array. Threads may add the pieces of an array in any order.
  void AddPiece(const float* values, size_t count);
  void AddPiece(const Float16* values, size_t count);
  void AddPiece(const BFloat16* values, size_t count);
  void AddPiece(const double* values, size_t count);

  void NonFinite(uint64_t* nans, uint64_t* infinities) const;

  // The versioned bytes of all that was counted; `Clear` leaves an empty sketch, `Merge` adds saved bytes to it.
  std::vector<uint8_t> Save();
  void Clear();
  bool Merge(const uint8_t* bytes, size_t size);

 private:
  struct Counter {
    Table table;
    size_t count = 0;  // values since the last flush
    uint64_t nans = 0, infinities = 0;
    int32_t least = INT32_MAX, greatest = INT32_MIN;
    uint32_t lowest = UINT32_MAX;
  };
  struct Totals {
    Table counts, sums;
  };

  std::unique_ptr<Counter> Take();
  void Return(std::unique_ptr<Counter> counter, double squares);
  template <class Convert>
  void Fold(size_t count, Convert convert);
  static void RedoNonFinite(float* values, size_t count, Counter* counter);
  void Flush(Counter* counter);
  void FlushAll();

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Counter>> idle_;
  std::unique_ptr<Totals> totals_;
  ExactSum squares_;
  uint64_t nans_ = 0, infinities_ = 0;
  int32_t least_ = INT32_MAX, greatest_ = INT32_MIN;
  uint32_t lowest_ = UINT32_MAX;
};

}  // namespace vitis
