"""What a model needs to be run: custom-op libraries, and samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import custom_ops
from ..calibration.ranges_file import range_file
from ..data_readers import RandomDataReader, Samples

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..request.settings import Run

CHECKED_SAMPLES = 4


def libraries_of(run: Run, model: ModelProto) -> list[str]:
    """Custom-op libraries: those of plugins, those of the caller, and onnxruntime-extensions where its ops are used."""
    paths = [*run.catalog.libraries(), *(run.call.custom_op_libraries or ())]
    defined = {(function.domain, function.name) for function in model.functions}
    used = {(node.domain, node.op_type) for node in model.graph.node} - defined
    if any(domain == custom_ops.CONTRIB_DOMAIN for domain, _ in used):
        from onnxruntime_extensions import get_library_path

        paths.append(get_library_path())
    return list(dict.fromkeys(paths))


def samples_of(run: Run, model: ModelProto) -> Samples:
    """The caller's samples, or random ones; the first are kept for the self-check."""
    reader = run.request.reader
    if reader is None and (run.request.calibration is not None or range_file(run) is not None):
        reader = RandomDataReader(model, run.call.random_data_reader_input_shape)
    if reader is None:
        run.report.note("calibrated with random data: fit for trying out only, not for deployment")
        reader = RandomDataReader(
            model, run.call.random_data_reader_input_shape, run.call.random_data_reader_input_data_range
        )
    converts = run.call.convert_fp16_to_fp32 or run.call.convert_nchw_to_nhwc
    return Samples(reader, model, remember=CHECKED_SAMPLES, converted=converts)
