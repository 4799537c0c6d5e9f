// Turns a plain struct into an ORT custom op.
// SPDX-License-Identifier: MIT
//
// A struct `Op` states
//   static constexpr std::array<int, n> kInputs, kOutputs;   ONNX element types
//   static constexpr size_t kRequired;                       inputs that must be there; the rest is optional
//   explicit Op(const NodeInfo&);                            reads attributes
//   void Compute(const Context&) const;                      stateless, so one kernel serves many threads
//   static void InferShape(const ShapeContext&);             optional work: what the outputs look like
// and throws OpError with a text for the user; nothing thrown crosses the C boundary.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ort_abi.h"

namespace vitis {

// A message for the user, e.g. "scale[2] is -0.5; every scale must be a positive finite number".
class OpError : public std::exception {
 public:
  explicit OpError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// The API table of the ORT that loaded this library; set once by RegisterCustomOps.
const ort::Api*& CurrentApi();

// Whether this ORT can infer shapes of custom ops: before 1.24 it crashes where an optional input has an empty name.
bool& InfersShapes();

// Calls a slot that returns OrtStatus*; a failure (null is success) becomes an OpError.
class ErrorStatus {
 public:
  explicit ErrorStatus(OrtStatus* status) : status_(status) {}
  ErrorStatus(const ErrorStatus&) = delete;
  ErrorStatus& operator=(const ErrorStatus&) = delete;
  ~ErrorStatus() {
    if (status_) ort::Call(*CurrentApi(), ort::ReleaseStatus, status_);
  }
  explicit operator bool() const { return status_ != nullptr; }

 private:
  OrtStatus* status_;
};

template <class Signature, class... Arguments>
void CallOrThrow(const char* what, ort::Slot<Signature> slot, Arguments... arguments) {
  const ErrorStatus status(ort::Call(*CurrentApi(), slot, arguments...));
  if (status) throw OpError(std::string("ONNX Runtime could not give the ") + what);
}

inline OrtStatus* MakeStatus(int code, const std::string& message) {
  return ort::Call(*CurrentApi(), ort::CreateStatus, code, message.c_str());
}

// A node while its kernel is created: its name and attributes.
class NodeInfo {
 public:
  explicit NodeInfo(const OrtKernelInfo* info) : info_(info) {}

  std::string Name() const {
    return Text([this](char* out, size_t* size) {
      return ort::Call(*CurrentApi(), ort::KernelInfoGetNodeName, info_, out, size);
    });
  }
  bool Get(const char* attribute, int64_t* value) const {
    return !ErrorStatus(ort::Call(*CurrentApi(), ort::KernelInfoGetInt64, info_, attribute, value));
  }
  bool Get(const char* attribute, std::string* value) const {
    bool found = false;
    *value = Text([&](char* out, size_t* size) {
      OrtStatus* status = ort::Call(*CurrentApi(), ort::KernelInfoGetString, info_, attribute, out, size);
      found = status == nullptr;
      return status;
    });
    return found;
  }

 private:
  // ORT's string protocol: ask for the size with a null buffer, then for the characters.
  template <class Ask>
  static std::string Text(Ask ask) {
    size_t size = 0;
    if (ErrorStatus(ask(nullptr, &size)) || size == 0) return {};
    std::string text(size, '\0');
    if (ErrorStatus(ask(text.data(), &size))) return {};
    text.resize(size - 1);  // the size counts the terminating zero
    return text;
  }

  const OrtKernelInfo* info_;
};

struct Tensor {
  const OrtValue* value = nullptr;  // null: the optional input is absent
  std::vector<int64_t> shape;
  size_t size = 0;

  template <class T>
  const T* data() const {
    if (!value) return nullptr;
    void* data = nullptr;
    CallOrThrow("data of an input", ort::GetTensorMutableData, const_cast<OrtValue*>(value), &data);
    return static_cast<const T*>(data);
  }
};

// One call of a node.
class Context {
 public:
  Context(OrtKernelContext* context, const std::string& node) : context_(context), node_(node) {}

  const std::string& Node() const { return node_; }

  Tensor Input(size_t index) const {
    Tensor tensor;
    size_t count = 0;
    CallOrThrow("number of inputs", ort::KernelContextGetInputCount, static_cast<const OrtKernelContext*>(context_),
                &count);
    if (index >= count) return tensor;
    CallOrThrow("input", ort::KernelContextGetInput, static_cast<const OrtKernelContext*>(context_), index,
                &tensor.value);
    if (!tensor.value) return tensor;
    OrtTensorTypeAndShapeInfo* raw = nullptr;
    CallOrThrow("shape of an input", ort::GetTensorTypeAndShape, tensor.value, &raw);
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, Release> info(raw);
    size_t rank = 0;
    CallOrThrow("rank of an input", ort::GetDimensionsCount, static_cast<const OrtTensorTypeAndShapeInfo*>(info.get()),
                &rank);
    tensor.shape.resize(rank);
    if (rank > 0) {
      CallOrThrow("dimensions of an input", ort::GetDimensions,
                  static_cast<const OrtTensorTypeAndShapeInfo*>(info.get()), tensor.shape.data(), rank);
    }
    tensor.size = 1;
    for (const int64_t dim : tensor.shape) tensor.size *= static_cast<size_t>(dim);
    return tensor;
  }

  template <class T>
  T* Output(size_t index, const std::vector<int64_t>& shape) const {
    OrtValue* value = nullptr;
    CallOrThrow("output", ort::KernelContextGetOutput, context_, index, shape.data(), shape.size(), &value);
    void* data = nullptr;
    CallOrThrow("data of an output", ort::GetTensorMutableData, value, &data);
    return static_cast<T*>(data);
  }

  // The number of elements that are worth a task of their own.
  static constexpr size_t kGrain = 32768;

  // Calls body(begin, end) on pieces of [0, size), `grain` long, from ORT's own thread pool.
  template <class Body>
  void ParallelFor(size_t size, Body body, size_t grain = kGrain) const {
    if (size <= grain) {
      body(size_t{0}, size);
      return;
    }
    struct Work {
      const Body& body;
      size_t size;
      size_t grain;
    } work{body, size, grain};
    const auto piece = [](void* user, size_t index) {
      const Work& job = *static_cast<const Work*>(user);
      const size_t begin = index * job.grain;
      job.body(begin, job.size - begin < job.grain ? job.size : begin + job.grain);
    };
    CallOrThrow("thread pool", ort::KernelContextParallelFor, static_cast<const OrtKernelContext*>(context_),
                static_cast<void (*)(void*, size_t)>(piece), (size + grain - 1) / grain, size_t{0},
                static_cast<void*>(&work));
  }

 private:
  struct Release {
    void operator()(OrtTensorTypeAndShapeInfo* info) const {
      ort::Call(*CurrentApi(), ort::ReleaseTensorTypeAndShapeInfo, info);
    }
  };

  OrtKernelContext* context_;
  const std::string& node_;
};

// A node while ORT infers shapes.
class ShapeContext {
 public:
  explicit ShapeContext(OrtShapeInferContext* context) : context_(context) {}

  // The element type of an input, or `missing` where it is absent.
  int ElementType(size_t index, int missing) const {
    OrtTensorTypeAndShapeInfo* info = Info(index);
    int type = ort::kUndefined;
    if (info) {
      CallOrThrow("element type", ort::GetTensorElementType, static_cast<const OrtTensorTypeAndShapeInfo*>(info),
                  &type);
    }
    return type == ort::kUndefined ? missing : type;
  }

  // Output 0 has the shape of input 0. An unranked input arrives as rank 0 and an unknown dimension as -1 without a
  // name, and writing those back would state something false: then nothing is said.
  void OutputLikeInput(int element_type) const {
    OrtTensorTypeAndShapeInfo* info = Info(0);
    if (!info) return;
    const OrtTensorTypeAndShapeInfo* view = info;
    size_t rank = 0;
    CallOrThrow("rank", ort::GetDimensionsCount, view, &rank);
    if (rank == 0) return;
    std::vector<int64_t> dims(rank);
    std::vector<const char*> names(rank, nullptr);
    CallOrThrow("dimensions", ort::GetDimensions, view, dims.data(), rank);
    CallOrThrow("dimension names", ort::GetSymbolicDimensions, view, names.data(), rank);
    for (size_t i = 0; i < rank; ++i) {
      if (dims[i] < 0 && (!names[i] || !*names[i])) return;
    }
    CallOrThrow("element type", ort::SetTensorElementType, info, element_type);
    CallOrThrow("output shape", ort::ShapeInferSetOutputTypeShape, static_cast<const OrtShapeInferContext*>(context_),
                size_t{0}, view);
  }

 private:
  OrtTensorTypeAndShapeInfo* Info(size_t index) const {
    const OrtShapeInferContext* view = context_;
    size_t count = 0;
    CallOrThrow("number of inputs", ort::ShapeInferGetInputCount, view, &count);
    if (index >= count) return nullptr;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    CallOrThrow("type of an input", ort::ShapeInferGetInputTypeShape, view, index, &info);
    return info;
  }

  OrtShapeInferContext* context_;
};

template <class Op>
class CustomOp : public ort::CustomOp {
 public:
  // `name` must outlive the op; ORT keeps the pointer.
  explicit CustomOp(const char* name) : ort::CustomOp{}, name_(name) {
    version = ort::kApiVersion;
    GetName = [](const ort::CustomOp* op) { return static_cast<const CustomOp*>(op)->name_; };
    GetExecutionProviderType = [](const ort::CustomOp*) -> const char* { return nullptr; };  // CPU
    GetInputType = [](const ort::CustomOp*, size_t index) { return Op::kInputs[index]; };
    GetInputTypeCount = [](const ort::CustomOp*) { return Op::kInputs.size(); };
    GetOutputType = [](const ort::CustomOp*, size_t index) { return Op::kOutputs[index]; };
    GetOutputTypeCount = [](const ort::CustomOp*) { return Op::kOutputs.size(); };
    KernelDestroy = [](void* kernel) { delete static_cast<Kernel*>(kernel); };
    GetInputCharacteristic = [](const ort::CustomOp*, size_t index) -> int {
      return index < Op::kRequired ? ort::kRequired : ort::kOptional;
    };
    GetOutputCharacteristic = [](const ort::CustomOp*, size_t) -> int { return ort::kRequired; };
    GetInputMemoryType = [](const ort::CustomOp*, size_t) -> int { return ort::kMemoryTypeDefault; };
    GetVariadicInputMinArity = [](const ort::CustomOp*) { return 1; };
    GetVariadicInputHomogeneity = [](const ort::CustomOp*) { return 1; };
    GetVariadicOutputMinArity = [](const ort::CustomOp*) { return 1; };
    GetVariadicOutputHomogeneity = [](const ort::CustomOp*) { return 1; };
    CreateKernelV2 = [](const ort::CustomOp* op, const ort::Api*, const OrtKernelInfo* info, void** kernel) {
      const NodeInfo node(info);
      return static_cast<const CustomOp*>(op)->Guard(node.Name(), [&] { *kernel = new Kernel(op, node); });
    };
    KernelComputeV2 = [](void* kernel, OrtKernelContext* context) {
      const Kernel& self = *static_cast<const Kernel*>(kernel);
      return self.declaration->Guard(self.node, [&] { self.op.Compute(Context(context, self.node)); });
    };
    if (InfersShapes())
      InferOutputShape = [](const ort::CustomOp* op, OrtShapeInferContext* context) {
        return static_cast<const CustomOp*>(op)->Guard("", [&] { Op::InferShape(ShapeContext(context)); });
      };
    GetStartVersion = [](const ort::CustomOp*) { return 1; };
    GetEndVersion = [](const ort::CustomOp*) { return 2147483647; };
  }

 private:
  struct Kernel {
    Kernel(const ort::CustomOp* declaration, const NodeInfo& info)
        : declaration(static_cast<const CustomOp*>(declaration)), node(info.Name()), op(info) {}
    const CustomOp* declaration;
    std::string node;
    Op op;
  };

  // Runs `body`; whatever it throws becomes a status that names the op and the node.
  template <class Body>
  OrtStatus* Guard(const std::string& node, Body body) const noexcept {
    int code = ort::kInvalidArgument;
    const char* reason = "";
    try {
      try {
        body();
        return nullptr;
      } catch (const OpError& error) {
        return MakeStatus(code, std::string(name_) + " node '" + node + "': " + error.what());
      } catch (const std::exception& error) {
        code = ort::kRuntimeException;
        return MakeStatus(code, std::string(name_) + " node '" + node + "': " + error.what());
      }
    } catch (...) {
      reason = "out of memory while reporting an error of a com.vai.quantize op";
    }
    return ort::Call(*CurrentApi(), ort::CreateStatus, static_cast<int>(ort::kFail), reason);
  }

  const char* name_;
};

}  // namespace vitis
