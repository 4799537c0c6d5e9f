// What ONNX Runtime calls when it loads this library: two domains and their ops.
// SPDX-License-Identifier: MIT

#include <array>
#include <cstdlib>
#include <new>

#include "kernels/kernels.h"
#include "ops/block_quantize.h"
#include "ops/dequantize_linear.h"
#include "ops/domains.h"
#include "ops/fix_neuron.h"
#include "ops/quantize_linear.h"

#if defined(_WIN32)
#define VITIS_EXPORT extern "C" __declspec(dllexport)
#else
#define VITIS_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace vitis {

const ort::Api*& CurrentApi() {
  static const ort::Api* api = nullptr;
  return api;
}

bool& InfersShapes() {
  static bool infers = false;
  return infers;
}

namespace {

bool IsAtLeast(const char* version, long wanted_major, long wanted_minor) {
  char* end = nullptr;
  const long major = std::strtol(version, &end, 10);
  const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
  return major > wanted_major || (major == wanted_major && minor >= wanted_minor);
}

void AddQuantizers(Domain& domain, const char* quantize, const char* dequantize) {
  ForEachStorage([&](auto type) {
    domain.Add<QuantizeLinearOp<decltype(type)>>(quantize);
    domain.Add<DequantizeLinearOp<decltype(type)>>(dequantize);
  });
}

// Built on first use and leaked on purpose, so that no exit order matters; the library stays loaded (-z nodelete).
const std::array<OrtCustomOpDomain*, 2>& Domains() {
  static const auto& domains = *[] {
    Domain vai("com.vai.quantize");
    AddQuantizers(vai, "VitisQuantizeLinear", "VitisDequantizeLinear");
    ForEachInteger([&](auto type) { vai.Add<FixNeuronOp<decltype(type)>>("FixNeuron"); });
    vai.Add<BlockFloatingPointOp>("BFPFixNeuron");
    vai.Add<MicroscalingOp>("MXFixNeuron");
#if defined(VITIS_HAS_SKETCH)
    AddSketchOps(vai);
#endif
    Domain quark("com.amd.quark");  // AMD Quark's names of the same ops
    AddQuantizers(quark, "ExtendedQuantizeLinear", "ExtendedDequantizeLinear");
    quark.Add<BlockFloatingPointOp>("BFPQuantizeDequantize");
    quark.Add<MicroscalingOp>("MXQuantizeDequantize");
    return new std::array<OrtCustomOpDomain*, 2>{vai.get(), quark.get()};
  }();
  return domains;
}

}  // namespace
}  // namespace vitis

VITIS_EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const ort::ApiBase* base) {
  const ort::Api* api = base->GetApi(ort::kApiVersion);
  if (!api) {
    const ort::Api* oldest = base->GetApi(1);
    return ort::Call(*oldest, ort::CreateStatus, static_cast<int>(ort::kFail),
                     "the custom-op library of ort_vitis_plugin needs onnxruntime 1.17 or newer");
  }
  vitis::CurrentApi() = api;
  vitis::InfersShapes() = vitis::IsAtLeast(base->GetVersionString(), 1, 24);
  // ORT refuses a domain that a session has already, so options registered twice would fail later, at the session.
  constexpr const char* kMark = "ort_vitis_plugin.registered";
  int registered = 0;
  OrtStatus* status =
      ort::Call(*api, ort::HasSessionConfigEntry, static_cast<const OrtSessionOptions*>(options), kMark, &registered);
  if (status || registered) return status;
  try {
    for (OrtCustomOpDomain* domain : vitis::Domains()) {
      status = ort::Call(*api, ort::AddCustomOpDomain, options, domain);
      if (status) return status;
    }
    return ort::Call(*api, ort::AddSessionConfigEntry, options, kMark, "1");
  } catch (const std::exception& error) {
    return ort::Call(*api, ort::CreateStatus, static_cast<int>(ort::kFail), error.what());
  }
}

// The instruction-set copy in use: "baseline", "avx2" or "avx512".
VITIS_EXPORT const char* ort_vitis_isa() { return vitis::BestKernels().name; }
