// Threads that add to one sketch, save and merge it at the same time: what they counted adds up exactly.
// SPDX-License-Identifier: MIT

#include "sketch/sketch.h"

#include <random>
#include <thread>
#include <vector>

#include "checks.h"
#include "sketch/registry.h"

namespace {

using checks::Check;
using vitis::Sketch;

constexpr int kThreads = 4;

std::vector<float> Values(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

// Every thread adds its own values, while one saves; the end is what one thread gets.
void TestThreadsAddUp() {
  std::vector<std::vector<float>> values;
  for (unsigned seed = 0; seed < kThreads; ++seed) values.push_back(Values(3 * Sketch::kPiece + 17, seed));
  Sketch alone;
  for (const auto& each : values) alone.Add(each.data(), each.size());
  Sketch shared;
  std::vector<std::thread> threads;
  for (const auto& each : values) {
    threads.emplace_back([&shared, &each] { shared.Add(each.data(), each.size()); });
  }
  threads.emplace_back([&shared] {
    for (int i = 0; i < 3; ++i) {
      uint64_t nans = 0;
      uint64_t infinities = 0;
      shared.NonFinite(&nans, &infinities);
      Check(nans == 0 && infinities == 0, "finite", i, static_cast<double>(nans), 0);
      Check(!shared.Save().empty(), "saved", i, 0, 1);
    }
  });
  for (std::thread& thread : threads) thread.join();
  Check(shared.Save() == alone.Save(), "bytes", kThreads, 0, 1);
}

// Sketches come and go by number in several threads.
void TestRegistry() {
  const std::vector<float> values = Values(1000, 7);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&values] {
      for (int i = 0; i < 4; ++i) {
        const int64_t number = vitis::NewSketch();
        const auto sketch = vitis::FindSketch(number);
        sketch->Add(values.data(), values.size());
        vitis::FreeSketch(number);
        Check(vitis::FindSketch(number) == nullptr, "freed", static_cast<double>(number), 0, 1);
        Check(!sketch->Save().empty(), "held", i, 0, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Bytes that are not those of a sketch, whole, cut and changed, are refused or merged, never read beyond their end.
void TestMergeOfAnything() {
  Sketch source;
  const std::vector<float> values = Values(5000, 3);
  source.Add(values.data(), values.size());
  const std::vector<uint8_t> saved = source.Save();
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    std::vector<uint8_t> bytes(saved.begin(), saved.begin() + random() % (saved.size() + 1));
    if (!bytes.empty()) bytes[random() % bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    Sketch target;
    target.Merge(bytes.data(), bytes.size());
  }
  Sketch target;
  Check(target.Merge(saved.data(), saved.size()), "merged", 0, 0, 1);
  Check(target.Save() == saved, "merged bytes", 0, 0, 1);
}

}  // namespace

int main() {
  return checks::Run([] {
    TestThreadsAddUp();
    TestRegistry();
    TestMergeOfAnything();
  });
}
