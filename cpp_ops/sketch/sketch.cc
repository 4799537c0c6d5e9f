// Counting, flushing, saving and merging of a sketch.
// SPDX-License-Identifier: MIT

#include "sketch/sketch.h"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <tuple>

#include "kernels/kernels.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace vitis {
namespace {

constexpr size_t kBytes = kKeys * sizeof(uint64_t);
// A word holds fewer than 2^24 values.
constexpr size_t kFlushAt = (size_t{1} << 24) - (size_t{1} << 17) - Sketch::kPiece;
constexpr uint32_t kVersion = 1;
constexpr char kMagic[4] = {'O', 'V', 'P', 'S'};

struct Header {
  char magic[4];
  uint32_t version;
  uint64_t bins, nans, infinities;
  float minimum, maximum;
  uint64_t squares[ExactSum::kLimbs];
};
static_assert(sizeof(Header) == 136, "the header of ort_vitis_plugin/sketch/tally.py");

const CountKernels& BestCountKernels() {
  static const CountKernels& kernels = []() -> const CountKernels& {
    const char* name = BestKernels().name;
#if defined(__x86_64__) || defined(_M_X64)
    if (std::strcmp(name, "avx512") == 0) return avx512::kCountKernels;
    if (std::strcmp(name, "avx2") == 0) return avx2::kCountKernels;
#endif
    (void)name;
    return baseline::kCountKernels;
  }();
  return kernels;
}

float FloatOf(int32_t order) {
  const int32_t pattern = OrderOf(order);
  float value;
  std::memcpy(&value, &pattern, sizeof(value));
  return value + 0.0f;  // -0.0 is saved as 0.0
}

int32_t OrderOfFloat(float value) {
  int32_t pattern;
  std::memcpy(&pattern, &value, sizeof(pattern));
  return OrderOf(pattern);
}

// Calls body(begin, end) for ranges of keys that hold all finite values of these extremes: reading a page of a table
// makes it real, and most were never written. `lowest` is as LowOf.
template <class Body>
void ForEachFinite(int32_t least, int32_t greatest, uint32_t lowest, Body body) {
  const size_t low = lowest == UINT32_MAX ? kKeys : (static_cast<size_t>(lowest) + 1) >> (kLowBits + 1);
  for (const auto& [sign, used, last] :
       {std::tuple(size_t{0}, greatest >= 0, OrderOf(greatest)), std::tuple(kKeys / 2, least < 0, OrderOf(least))}) {
    body(sign, sign + 1);  // zeros: the extremes do not tell -0.0 from 0.0
    if (!used) continue;
    const size_t high = (static_cast<uint32_t>(last) & 0x7fffffff) >> kLowBits;
    body(sign + (low > 0 ? low : 1), sign + high + 1);
  }
}

}  // namespace

#if defined(__linux__)
// Huge pages would make real what was never touched.
Table::Table() {
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, kBytes, MADV_NOHUGEPAGE);
  words_ = static_cast<uint64_t*>(memory);
}
Table::~Table() { munmap(words_, kBytes); }
#else
Table::Table() : words_(static_cast<uint64_t*>(std::calloc(kKeys, sizeof(uint64_t)))) {
  if (!words_) throw std::bad_alloc();
}
Table::~Table() { std::free(words_); }
#endif

std::unique_ptr<Sketch::Counter> Sketch::Take() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Counter> counter = std::move(idle_.back());
      idle_.pop_back();
      return counter;
    }
  }
  return std::make_unique<Counter>();
}

void Sketch::Return(std::unique_ptr<Counter> counter, double squares) {
  const std::lock_guard<std::mutex> lock(mutex_);
  squares_.Add(squares);
  if (counter->count > kFlushAt) Flush(counter.get());
  idle_.push_back(std::move(counter));
}

// `convert(at, size, buffer)` returns the values [at, at + size) as floats, in `buffer` or where they are.
template <class Convert>
void Sketch::Fold(size_t count, Convert convert) {
  std::unique_ptr<Counter> counter = Take();
  const CountKernels& kernels = BestCountKernels();
  Scan scan;
  alignas(64) float buffer[kBlock];
  for (size_t at = 0; at < count; at += kBlock) {
    const size_t size = count - at < kBlock ? count - at : kBlock;
    const float* values = convert(at, size, buffer);
    kernels.count(values, size, counter->table.words());
    const size_t whole = size - size % kLanes;
    const Scan before = scan;
    bool finite = whole == 0 || kernels.scan(values, whole, &scan);
    if (whole < size) {
      // The rest, filled up with copies for the extremes and with zeros for the squares.
      float rest[kLanes];
      Scan extremes = scan;
      for (size_t i = 0; i < kLanes; ++i) rest[i] = values[whole + i % (size - whole)];
      kernels.scan(rest, kLanes, &extremes);
      for (size_t i = size - whole; i < kLanes; ++i) rest[i] = 0.0f;
      finite = kernels.scan(rest, kLanes, &scan) && finite;
      scan.least = extremes.least;
      scan.greatest = extremes.greatest;
    }
    if (!finite) {
      // Once more, with zeros in place of what is not finite; the extremes come from the finite values.
      scan = before;
      if (values != buffer) std::memcpy(buffer, values, size * sizeof(float));
      RedoNonFinite(buffer, size, counter.get());
      for (size_t i = size; i % kLanes != 0; ++i) buffer[i] = 0.0f;
      kernels.scan(buffer, (size + kLanes - 1) / kLanes * kLanes, &scan);
      scan.least = before.least;
      scan.greatest = before.greatest;
    }
  }
  counter->least = scan.least < counter->least ? scan.least : counter->least;
  counter->greatest = scan.greatest > counter->greatest ? scan.greatest : counter->greatest;
  counter->lowest = scan.lowest < counter->lowest ? scan.lowest : counter->lowest;
  counter->count += count;
  for (size_t width = kLanes / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) scan.squares[i] += scan.squares[i + width];
  }
  Return(std::move(counter), scan.squares[0]);
}

void Sketch::RedoNonFinite(float* values, size_t count, Counter* counter) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t pattern;
    std::memcpy(&pattern, values + i, sizeof(pattern));
    if ((pattern & 0x7fffffff) < kInfinite) {
      const int32_t order = OrderOf(static_cast<int32_t>(pattern));
      counter->least = order < counter->least ? order : counter->least;
      counter->greatest = order > counter->greatest ? order : counter->greatest;
      continue;
    }
    ++((pattern & 0x7fffffff) == kInfinite ? counter->infinities : counter->nans);
    values[i] = 0.0f;
  }
}

void Sketch::AddPiece(const float* values, size_t count) {
  Fold(count, [=](size_t at, size_t, float*) { return values + at; });
}

void Sketch::AddPiece(const double* values, size_t count) {
  Fold(count, [=](size_t at, size_t size, float* buffer) -> const float* {
    for (size_t i = 0; i < size; ++i) buffer[i] = static_cast<float>(values[at + i]);
    return buffer;
  });
}

namespace {

template <class T>
const float* Widen(const T* values, size_t size, float* buffer) {
  const float one = 1.0f;
  const AxisView channels{1, 1, size};
  BestKernels().of<T>().dequantize(values, buffer, &one, nullptr, channels, 0, size);
  return buffer;
}

}  // namespace

void Sketch::AddPiece(const Float16* values, size_t count) {
  Fold(count, [=](size_t at, size_t size, float* buffer) { return Widen(values + at, size, buffer); });
}

void Sketch::AddPiece(const BFloat16* values, size_t count) {
  Fold(count, [=](size_t at, size_t size, float* buffer) { return Widen(values + at, size, buffer); });
}

void Sketch::NonFinite(uint64_t* nans, uint64_t* infinities) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  *nans = nans_;
  *infinities = infinities_;
  for (const auto& counter : idle_) {
    *nans += counter->nans;
    *infinities += counter->infinities;
  }
}

// Moves the counts to 64-bit totals.
void Sketch::Flush(Counter* counter) {
  if (!totals_) totals_ = std::make_unique<Totals>();
  ForEachFinite(counter->least, counter->greatest, counter->lowest, [&](size_t key, size_t end) {
    for (; key < end; ++key) {
      uint64_t& word = counter->table[key];
      if (word == 0) continue;
      const uint64_t unit = kOne + (static_cast<uint64_t>(key) << kLowBits);
      totals_->counts[key] += word / unit;
      totals_->sums[key] += word % unit;
      word = 0;
    }
  });
  nans_ += counter->nans;
  infinities_ += counter->infinities;
  least_ = counter->least < least_ ? counter->least : least_;
  greatest_ = counter->greatest > greatest_ ? counter->greatest : greatest_;
  lowest_ = counter->lowest < lowest_ ? counter->lowest : lowest_;
  counter->count = 0;
  counter->nans = counter->infinities = 0;
  counter->least = INT32_MAX;
  counter->greatest = INT32_MIN;
  counter->lowest = UINT32_MAX;
}

void Sketch::FlushAll() {
  for (const auto& counter : idle_) {
    if (counter->count > 0) Flush(counter.get());
  }
}

std::vector<uint8_t> Sketch::Save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  FlushAll();
  std::vector<uint32_t> keys;
  std::vector<uint64_t> counts;
  std::vector<uint64_t> sums;
  ForEachFinite(least_, greatest_, lowest_, [&](size_t key, size_t end) {
    for (; totals_ && key < end; ++key) {
      if (totals_->counts[key] == 0) continue;
      keys.push_back(static_cast<uint32_t>(key));
      counts.push_back(totals_->counts[key]);
      sums.push_back(totals_->sums[key]);
    }
  });
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.bins = keys.size();
  header.nans = nans_;
  header.infinities = infinities_;
  header.minimum = keys.empty() ? kInfinity : FloatOf(least_);
  header.maximum = keys.empty() ? -kInfinity : FloatOf(greatest_);
  std::memcpy(header.squares, squares_.limbs(), sizeof(header.squares));

  std::vector<uint8_t> bytes;
  const auto append = [&bytes](const void* data, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  bytes.reserve(sizeof(header) + 20 * keys.size());
  append(&header, sizeof(header));
  append(counts.data(), counts.size() * sizeof(uint64_t));
  append(sums.data(), sums.size() * sizeof(uint64_t));
  append(keys.data(), keys.size() * sizeof(uint32_t));
  return bytes;
}

void Sketch::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  FlushAll();
  totals_.reset();
  squares_ = ExactSum();
  nans_ = infinities_ = 0;
  least_ = INT32_MAX;
  greatest_ = INT32_MIN;
  lowest_ = UINT32_MAX;
}

bool Sketch::Merge(const uint8_t* bytes, size_t size) {
  Header header;
  if (size < sizeof(header)) return false;
  std::memcpy(&header, bytes, sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.version != kVersion) return false;
  if (header.bins > kKeys || size != sizeof(header) + 20 * header.bins) return false;
  const uint8_t* counts = bytes + sizeof(header);
  const uint8_t* sums = counts + 8 * header.bins;
  const uint8_t* keys = sums + 8 * header.bins;

  const std::lock_guard<std::mutex> lock(mutex_);
  if (!totals_) totals_ = std::make_unique<Totals>();
  for (size_t i = 0; i < header.bins; ++i) {
    uint32_t key;
    uint64_t count;
    uint64_t sum;
    std::memcpy(&key, keys + 4 * i, sizeof(key));
    std::memcpy(&count, counts + 8 * i, sizeof(count));
    std::memcpy(&sum, sums + 8 * i, sizeof(sum));
    if (key >= kKeys) return false;
    totals_->counts[key] += count;
    totals_->sums[key] += sum;
    // The least pattern of the bin that is not zero.
    const uint32_t low = LowOf(key << kLowBits | ((key & (kKeys / 2 - 1)) == 0 ? 1 : 0));
    lowest_ = low < lowest_ ? low : lowest_;
  }
  ExactSum squares;
  std::memcpy(squares.limbs(), header.squares, sizeof(header.squares));
  squares_.Add(squares);
  nans_ += header.nans;
  infinities_ += header.infinities;
  if (header.bins > 0) {
    const int32_t least = OrderOfFloat(header.minimum);
    const int32_t greatest = OrderOfFloat(header.maximum);
    least_ = least < least_ ? least : least_;
    greatest_ = greatest > greatest_ ? greatest : greatest_;
  }
  return true;
}

}  // namespace vitis
