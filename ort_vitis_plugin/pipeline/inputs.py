"""What a model needs to be run: custom-op libraries, and samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import custom_ops
from ..data_readers import RandomDataReader, Samples
from .range_file import range_file

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..request.call import Call

CHECKED_SAMPLES = 4
KEPT_BYTES = 1 << 26  # of samples that can be read only once and are needed again


def libraries_of(call: Call, model: ModelProto) -> list[str]:
    """Custom-op libraries: those of plugins, those of the caller, and onnxruntime-extensions where its ops are used."""
    paths = [*call.catalog.libraries(), *(call.call.custom_op_libraries or ())]
    defined = {(function.domain, function.name) for function in model.functions}
    used = {(node.domain, node.op_type) for node in model.graph.node} - defined
    if any(domain == custom_ops.CONTRIB_DOMAIN for domain, _ in used):
        from onnxruntime_extensions import get_library_path

        paths.append(get_library_path())
    return list(dict.fromkeys(paths))


def samples_of(call: Call, model: ModelProto) -> Samples:
    """The caller's samples, or random ones; the first are kept for the self-check."""
    reader = call.request.reader
    if reader is None and (call.request.calibration is not None or range_file(call.settings) is not None):
        reader = RandomDataReader(model, call.call.random_data_reader_input_shape)
    if reader is None:
        call.report.note("calibrated with random data: fit for trying out only, not for deployment")
        reader = RandomDataReader(
            model, call.call.random_data_reader_input_shape, call.call.random_data_reader_input_data_range
        )
    converts = call.call.convert_fp16_to_fp32 or call.call.convert_nchw_to_nhwc
    keep = KEPT_BYTES if call.call.recipe == "auto" else 0
    return Samples(reader, model, remember=CHECKED_SAMPLES, converted=converts, keep=keep)
