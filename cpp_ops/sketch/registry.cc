// The table of living sketches.
// SPDX-License-Identifier: MIT

#include "sketch/registry.h"

#include <mutex>
#include <unordered_map>

namespace vitis {
namespace {

struct Registry {
  std::mutex mutex;
  std::unordered_map<int64_t, std::shared_ptr<Sketch>> sketches;
  int64_t last = 0;
};

// Leaked on purpose: sessions may outlive every static destructor.
Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

}  // namespace

int64_t NewSketch() {
  auto sketch = std::make_shared<Sketch>();
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.sketches.emplace(++registry.last, std::move(sketch));
  return registry.last;
}

std::shared_ptr<Sketch> FindSketch(int64_t number) {
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.sketches.find(number);
  return found == registry.sketches.end() ? nullptr : found->second;
}

void FreeSketch(int64_t number) {
  std::shared_ptr<Sketch> last;  // destroyed after the lock is gone
  Registry& registry = TheRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.sketches.find(number);
  if (found == registry.sketches.end()) return;
  last = std::move(found->second);
  registry.sketches.erase(found);
}

}  // namespace vitis
