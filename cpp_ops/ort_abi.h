// The slice of ONNX Runtime's C ABI that this library uses, written by hand: slot numbers and struct layouts.
// SPDX-License-Identifier: MIT
//
// ORT only ever appends to OrtApi, so a slot number never changes; API 17 holds every slot used here, and later
// versions of ORT serve it unchanged. There is no header package to build against.

#pragma once

#include <cstddef>
#include <cstdint>

struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtShapeInferContext;
struct OrtTensorTypeAndShapeInfo;
struct OrtValue;
struct OrtOpAttr;

namespace ort {

inline constexpr uint32_t kApiVersion = 17;

using AnyFunction = void (*)();

// OrtApi is a struct of nothing but function pointers.
struct Api {
  AnyFunction slots[1];
};

struct ApiBase {
  const Api* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

enum ErrorCode : int { kFail = 1, kInvalidArgument = 2, kRuntimeException = 6 };

enum ElementType : int {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBFloat16 = 16,
};

// A slot knows its signature, so a mistyped argument does not compile.
template <class Signature>
struct Slot {
  size_t index;
};

template <class Result, class... Parameters, class... Arguments>
Result Call(const Api& api, Slot<Result(Parameters...)> slot, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Parameters...)>(api.slots[slot.index])(arguments...);
}

inline constexpr Slot<OrtStatus*(int code, const char* message)> CreateStatus{0};
inline constexpr Slot<OrtStatus*(const char* domain, OrtCustomOpDomain** out)> CreateCustomOpDomain{26};
struct CustomOp;
inline constexpr Slot<OrtStatus*(OrtCustomOpDomain*, const CustomOp*)> CustomOpDomainAdd{27};
inline constexpr Slot<OrtStatus*(OrtSessionOptions*, OrtCustomOpDomain*)> AddCustomOpDomain{28};
inline constexpr Slot<OrtStatus*(OrtValue*, void** out)> GetTensorMutableData{51};
inline constexpr Slot<OrtStatus*(OrtTensorTypeAndShapeInfo*, int type)> SetTensorElementType{58};
inline constexpr Slot<OrtStatus*(const OrtTensorTypeAndShapeInfo*, int* out)> GetTensorElementType{60};
inline constexpr Slot<OrtStatus*(const OrtTensorTypeAndShapeInfo*, size_t* out)> GetDimensionsCount{61};
inline constexpr Slot<OrtStatus*(const OrtTensorTypeAndShapeInfo*, int64_t* dims, size_t count)> GetDimensions{62};
inline constexpr Slot<OrtStatus*(const OrtTensorTypeAndShapeInfo*, const char** names, size_t count)>
    GetSymbolicDimensions{63};
inline constexpr Slot<OrtStatus*(const OrtValue*, OrtTensorTypeAndShapeInfo** out)> GetTensorTypeAndShape{65};
inline constexpr Slot<OrtStatus*(const OrtKernelInfo*, const char* name, int64_t* out)> KernelInfoGetInt64{86};
inline constexpr Slot<OrtStatus*(const OrtKernelInfo*, const char* name, char* out, size_t* size)> KernelInfoGetString{
    87};
inline constexpr Slot<OrtStatus*(const OrtKernelContext*, size_t* out)> KernelContextGetInputCount{88};
inline constexpr Slot<OrtStatus*(const OrtKernelContext*, size_t index, const OrtValue** out)> KernelContextGetInput{
    90};
inline constexpr Slot<OrtStatus*(OrtKernelContext*, size_t index, const int64_t* dims, size_t rank, OrtValue** out)>
    KernelContextGetOutput{91};
inline constexpr Slot<void(OrtStatus*)> ReleaseStatus{93};
inline constexpr Slot<void(OrtTensorTypeAndShapeInfo*)> ReleaseTensorTypeAndShapeInfo{99};
inline constexpr Slot<void(OrtCustomOpDomain*)> ReleaseCustomOpDomain{101};
inline constexpr Slot<OrtStatus*(OrtSessionOptions*, const char* key, const char* value)> AddSessionConfigEntry{130};
inline constexpr Slot<OrtStatus*(const OrtSessionOptions*, const char* key, int* out)> HasSessionConfigEntry{237};
inline constexpr Slot<OrtStatus*(const OrtKernelInfo*, char* out, size_t* size)> KernelInfoGetNodeName{244};
inline constexpr Slot<OrtStatus*(const OrtShapeInferContext*, size_t* out)> ShapeInferGetInputCount{267};
inline constexpr Slot<OrtStatus*(const OrtShapeInferContext*, size_t index, OrtTensorTypeAndShapeInfo** out)>
    ShapeInferGetInputTypeShape{268};
inline constexpr Slot<OrtStatus*(const OrtShapeInferContext*, size_t index, const OrtTensorTypeAndShapeInfo*)>
    ShapeInferSetOutputTypeShape{270};
inline constexpr Slot<OrtStatus*(const OrtKernelContext*, void (*body)(void* user, size_t index), size_t total,
                                 size_t batches, void* user)>
    KernelContextParallelFor{274};

enum InputOutputCharacteristic : int { kRequired = 0, kOptional = 1, kVariadic = 2 };
enum MemoryType : int { kMemoryTypeDefault = 0 };

// OrtCustomOp as of API 17. ORT reads what later versions appended only if `version` says so.
struct CustomOp {
  uint32_t version;
  void* (*CreateKernel)(const CustomOp*, const Api*, const OrtKernelInfo*);  // null: V2 below is used
  const char* (*GetName)(const CustomOp*);
  const char* (*GetExecutionProviderType)(const CustomOp*);
  int (*GetInputType)(const CustomOp*, size_t index);
  size_t (*GetInputTypeCount)(const CustomOp*);
  int (*GetOutputType)(const CustomOp*, size_t index);
  size_t (*GetOutputTypeCount)(const CustomOp*);
  void (*KernelCompute)(void* kernel, OrtKernelContext*);  // null: V2 below is used
  void (*KernelDestroy)(void* kernel);
  int (*GetInputCharacteristic)(const CustomOp*, size_t index);
  int (*GetOutputCharacteristic)(const CustomOp*, size_t index);
  int (*GetInputMemoryType)(const CustomOp*, size_t index);
  int (*GetVariadicInputMinArity)(const CustomOp*);
  int (*GetVariadicInputHomogeneity)(const CustomOp*);
  int (*GetVariadicOutputMinArity)(const CustomOp*);
  int (*GetVariadicOutputHomogeneity)(const CustomOp*);
  OrtStatus* (*CreateKernelV2)(const CustomOp*, const Api*, const OrtKernelInfo*, void** kernel);
  OrtStatus* (*KernelComputeV2)(void* kernel, OrtKernelContext*);
  OrtStatus* (*InferOutputShape)(const CustomOp*, OrtShapeInferContext*);
  int (*GetStartVersion)(const CustomOp*);
  int (*GetEndVersion)(const CustomOp*);
};
static_assert(sizeof(CustomOp) == 22 * sizeof(void*), "OrtCustomOp of API 17 is 176 bytes on 64-bit machines");

}  // namespace ort
