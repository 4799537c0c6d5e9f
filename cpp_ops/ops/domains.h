// A custom-op domain under construction: ORT wants every op of a domain added before the domain is.
// SPDX-License-Identifier: MIT

#pragma once

#include "ops/op.h"

namespace vitis {

class Domain {
 public:
  explicit Domain(const char* name) { Check(ort::Call(*CurrentApi(), ort::CreateCustomOpDomain, name, &domain_)); }

  // `name` must be a literal. The op is leaked on purpose: sessions may outlive every static destructor.
  template <class Op>
  void Add(const char* name) {
    Check(ort::Call(*CurrentApi(), ort::CustomOpDomainAdd, domain_,
                    static_cast<const ort::CustomOp*>(new CustomOp<Op>(name))));
  }

  OrtCustomOpDomain* get() const { return domain_; }

 private:
  static void Check(OrtStatus* status) {
    if (ErrorStatus(status)) throw OpError("ONNX Runtime refused a custom-op domain");
  }

  OrtCustomOpDomain* domain_ = nullptr;
};

// Defined in sketch/ where that folder has sources: adds the calibration observer to com.vai.quantize.
void AddSketchOps(Domain& domain);

}  // namespace vitis
