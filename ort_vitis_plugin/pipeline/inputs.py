"""What a model needs to be run: custom-op libraries, and samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from .. import custom_ops
from ..data_readers import RandomDataReader, Samples
from ..errors import CalibrationError, RandomDataWarning
from ..onnx_io.sessions import extensions_library
from .corrections import enabled_corrections
from .range_file import range_file

if TYPE_CHECKING:
    from onnx import ModelProto

    from ..request.call import Call

# A choice: more than one, so that a fault of one sample is seen as such; few, for the check runs each three times.
CHECKED_SAMPLES = 4
KEPT_SAMPLES = 64  # of a reader that can be read once, for corrections


def libraries_of(call: Call, model: ModelProto) -> list[str]:
    """Custom-op libraries: those of plugins, those of the caller, and onnxruntime-extensions where its ops are used."""
    paths = [*call.catalog.libraries(), *(call.call.custom_op_libraries or ())]
    defined = {(function.domain, function.name) for function in model.functions}
    used = {(node.domain, node.op_type) for node in model.graph.node} - defined
    if any(domain == custom_ops.CONTRIB_DOMAIN for domain, _ in used):
        paths.append(extensions_library())
    return list(dict.fromkeys(paths))


def _needs_samples(call: Call) -> bool:
    """Whether a range has to be found: none is where one is stored, nor where types have no range of their own."""
    cache = call.call.calibration_cache
    stored = call.request.calibration is not None or range_file(call.settings) is not None
    stored = stored or (cache is not None and Path(cache).exists())
    return not stored and call.settings.needs_data


def warn_of_random_data(call: Call) -> None:
    """One RandomDataWarning where random data are about to stand for samples."""
    if call.report.random_data and _needs_samples(call):
        warnings.warn(
            "there is no calibration_data_reader: random data calibrate, fit for trying out only; give samples",
            RandomDataWarning,
            stacklevel=8,
        )


def samples_of(call: Call, model: ModelProto) -> Samples:
    """The caller's samples, or random ones; the first are kept for the self-check.

    Raises:
        CalibrationError: there are none, and the request does not take random ones for ranges that need some.
    """
    reader = call.request.reader
    if reader is None and not call.settings.needs_data:
        what = "WeightOnly" if call.settings.weights_alone else call.activation
        call.report.note(f"{what} needs no calibration data: no sample was run, so none tells the accuracy")
        reader = []
    if reader is None:
        call.report.random_data = True
        if _needs_samples(call):
            if not call.request.takes_random_data:
                # As onnxruntime words it: scripts may look for the text.
                raise CalibrationError(
                    "Either calibration_data_reader or an existing calibration_cache_path must be provided."
                )
            call.ledger.random = True
            call.report.note("calibrated with random data: fit for trying out only, not for deployment")
        else:
            call.report.note("there are no samples: against float the result was measured on random data only")
        reader = RandomDataReader(
            model, call.call.random_data_reader_input_shape, call.call.random_data_reader_input_data_range
        )
    converts = call.call.convert_fp16_to_fp32 or call.call.convert_nchw_to_nhwc
    samples = Samples(reader, model, remember=CHECKED_SAMPLES, converted=converts)
    if samples.is_read_once and (call.call.recipe == "auto" or enabled_corrections(call)):
        samples.remember(KEPT_SAMPLES)
    return samples
