// CalibrationObserver(x) -> empty: adds x to the sketch of that number, so that activations never leave the session.
// SPDX-License-Identifier: MIT

#include "ops/dispatch.h"
#include "ops/domains.h"
#include "ops/op.h"
#include "sketch/registry.h"

namespace vitis {
namespace {

template <class T>
inline constexpr int kObserved = kElementType<T>;
template <>
inline constexpr int kObserved<float> = ort::kFloat;
template <>
inline constexpr int kObserved<double> = ort::kDouble;

template <class T>
class CalibrationObserverOp {
 public:
  static constexpr std::array<int, 1> kInputs{kObserved<T>};
  static constexpr std::array<int, 1> kOutputs{ort::kUint8};
  static constexpr size_t kRequired = 1;

  explicit CalibrationObserverOp(const NodeInfo& info) {
    int64_t number = 0;
    info.Get("sketch", &number);
    sketch_ = FindSketch(number);
    if (!sketch_) throw OpError("there is no sketch " + std::to_string(number));
  }

  void Compute(const Context& context) const {
    const Tensor x = context.Input(0);
    const T* values = x.data<T>();
    context.Output<uint8_t>(0, {0});
    // The pieces of ParallelFor are those of the sketch, so that threads do not change the folds.
    context.ParallelFor(x.size, [&](size_t begin, size_t end) {
      for (size_t at = begin; at < end; at += Sketch::kPiece) {
        sketch_->AddPiece(values + at, end - at < Sketch::kPiece ? end - at : Sketch::kPiece);
      }
    });
  }

  static void InferShape(const ShapeContext&) {}

 private:
  std::shared_ptr<Sketch> sketch_;
};

}  // namespace

void AddSketchOps(Domain& domain) {
  domain.Add<CalibrationObserverOp<float>>("CalibrationObserver");
  domain.Add<CalibrationObserverOp<Float16>>("CalibrationObserver");
  domain.Add<CalibrationObserverOp<BFloat16>>("CalibrationObserver");
  domain.Add<CalibrationObserverOp<double>>("CalibrationObserver");
}

}  // namespace vitis
