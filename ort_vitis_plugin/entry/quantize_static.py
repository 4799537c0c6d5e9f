"""quantize_static with the signature of vai_q_onnx, and the way in for calls at onnxruntime's own door."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxruntime.quantization import QuantFormat, QuantType

from ..foreign import ours_or_none
from ..numerics.qtypes import PowerOfTwoMethod
from ..onnx_io.save import model_size, save_model
from ..onnx_io.whole_file import is_stream
from ..options.request import Request
from ..plugin.catalog import Catalog, shared_catalog
from ..report.report import Result
from .arguments import request_from_manual, request_from_ort
from .client_defaults import wishes
from .later_keywords import takes_later_keywords
from .outcome import tell
from .whole_call import request_files, whole_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import ModelProto
    from onnxruntime.quantization import CalibraterBase

    from ..calibration import Calibration, Executor
    from ..request.settings import Settings


@takes_later_keywords
def quantize_static(
    model_input: str | Path | ModelProto,
    model_output: str | Path | None,
    calibration_data_reader: Any = None,
    quant_format: Any = QuantFormat.QDQ,
    calibrate_method: Any = PowerOfTwoMethod.MinMSE,
    input_nodes: list[str] = [],  # noqa: B006 - the documented default; never changed
    output_nodes: list[str] = [],  # noqa: B006
    op_types_to_quantize: list[str] | None = [],  # noqa: B006
    random_data_reader_input_shape: Any = [],  # noqa: B006
    per_channel: bool = False,
    reduce_range: bool = False,
    activation_type: Any = QuantType.QInt8,
    weight_type: Any = QuantType.QInt8,
    nodes_to_quantize: list[str] | None = None,
    nodes_to_exclude: list[str] | None = None,
    optimize_model: bool = True,
    use_external_data_format: bool = False,
    execution_providers: list[Any] | None = ["CPUExecutionProvider"],  # noqa: B006
    enable_dpu: bool = False,
    convert_fp16_to_fp32: bool = False,
    convert_nchw_to_nhwc: bool = False,
    include_cle: bool = False,
    extra_options: dict[str, Any] | None = {},  # noqa: B006
    *,
    print_summary: bool = False,
    debug_mode: bool = False,
    calibration: Any = None,
    calibration_cache_path: str | Path | None = None,
    plugins: Any = None,
    **aliases: Any,
) -> Result:
    """Quantize a float ONNX model for an AMD NPU, or for any target that a plugin declares.

    Signature, order and defaults are those of the vai_q_onnx manual. ``model_input`` is a path or a ModelProto (never
    changed); ``model_output`` a path, or None to write no file. ``calibration_data_reader`` has ``get_next()`` giving
    {input name: array} and None at the end; None calibrates with one random sample. ``extra_options`` takes every key
    that ``ort-vitis options`` lists. ``calibration`` is what ``calibrate`` returned, in place of samples.
    ``calibration_cache_path`` is onnxruntime's: its JSON file of ranges, read if it exists, else written. ``plugins``
    is a plugin manager other than the shared one.

    Returns a Result: ``.model``, ``.report``, ``.path``. Raises errors of ``ort_vitis_plugin.errors`` before any work
    where the request cannot be answered; no file is left behind by a call that raises.
    """
    arguments = dict(locals())
    with whole_call("quantize_static"):
        request = request_from_manual(arguments)
        catalog = shared_catalog() if plugins is None else Catalog(plugins)
        result = quantize_and_save(request, catalog)
    if print_summary:
        result.report.print()
    return result


def calibrate(
    model_input: str | Path | ModelProto,
    calibration_data_reader: Any,
    *,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 16,
    plugins: Any = None,
    **configuration: Any,
) -> Calibration:
    """Run the samples once; hand the result to ``quantize_static(..., calibration=...)`` as often as you like.

    ``configuration`` takes the keyword arguments of ``quantize_static``. What prepares the float model (target,
    include_cle, converters, preparation switches) must be the same in both calls; format, method and types are free.
    With an ``executor`` (concurrent.futures or a Dask client) the samples are split among its workers; the result is
    the same to the bit. ``checkpoint`` names a file from which a broken-off calibration goes on.
    """
    with whole_call("calibrate"):
        from ..pipeline.pipeline import calibrate_only

        request = request_of(model_input, calibration_data_reader, configuration)
        files = request_files(request, checkpoint=checkpoint)
        files.check()
        with files.protected():
            return calibrate_only(
                request,
                shared_catalog() if plugins is None else Catalog(plugins),
                executor=executor,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
            )


def prepared(model_input: str | Path | ModelProto, *, plugins: Any = None, **configuration: Any) -> ModelProto:
    """The float model as ``quantize_static`` with these keyword arguments prepares it; no sample is run."""
    with whole_call("prepared"):
        from ..pipeline.pipeline import prepare_only

        catalog = shared_catalog() if plugins is None else Catalog(plugins)
        return prepare_only(request_of(model_input, None, configuration), catalog)


def simulated(model_input: str | Path | ModelProto, *, plugins: Any = None, **configuration: Any) -> ModelProto:
    """The prepared float model, computing what the target's device computes; no sample is run."""
    with whole_call("simulated"):
        from ..pipeline.pipeline import prepare_only

        catalog = shared_catalog() if plugins is None else Catalog(plugins)
        return prepare_only(request_of(model_input, None, configuration), catalog, simulates=True)


def quantize_and_save(request: Request, catalog: Catalog) -> Result:
    """Quantize, then save whole or not at all."""
    from ..pipeline.pipeline import quantize_model

    files = request_files(request)
    files.check()
    path = None if request.output is None else Path(request.output)
    report_path = request.given.get("Report")
    with files.protected():
        model, report = quantize_model(request, catalog)
        if path is not None:
            save_model(model, path, external_data=request.external_data)
            report.quantized_bytes = model_size(model) if is_stream(path) else path.stat().st_size
        # Another type is refused where options are read.
        tell(report, report_path if isinstance(report_path, str) else None)
    return Result(model, report, path)


def settings_for(*, plugins: Any = None, **configuration: Any) -> Settings:
    """The settings of ``quantize_static`` with these keyword arguments: what the stages in ``api`` take.

    Raises:
        QuantizationError: two values contradict each other, or name what does not exist.
    """
    with ours_or_none("settings_for"):
        from ..request.settings import settings_of

        catalog = shared_catalog() if plugins is None else Catalog(plugins)
        return settings_of(request_of("", None, configuration), catalog)


def check_output(
    model: str | Path | ModelProto,
    output: str | Path | None,
    reader: Any,
    beside: Sequence[tuple[str, str | Path]] = (),
) -> None:
    """Refuse, before any work, an output (or what lies beside it) that could not be written, or that the call reads."""
    bound = inspect.signature(quantize_static).bind(model, output, reader)
    bound.apply_defaults()
    files = request_files(request_from_manual(bound.arguments))
    files.writes += beside
    files.check()


def request_of(model: str | Path | ModelProto, reader: Any, configuration: Mapping[str, Any]) -> Request:
    """A call of ``quantize_static`` that writes no file."""
    bound = inspect.signature(quantize_static).bind(model, None, reader, **configuration)
    bound.apply_defaults()
    return request_from_manual(bound.arguments)


def quantize_from_ort(arguments: Mapping[str, object]) -> None:
    """Answer a call of onnxruntime's quantize_static that asks for something of ours; returns None as it does."""
    with whole_call("quantize_static"):
        quantize_and_save(wishes(request_from_ort(arguments), shared_catalog()), shared_catalog())


def calibrator_from_ort(arguments: Mapping[str, Any]) -> CalibraterBase:
    """Answer a call of onnxruntime's create_calibrator that names a method of ours."""
    with ours_or_none("create_calibrator"):
        from .create_calibrator import SketchCalibrater

        return SketchCalibrater.from_arguments(arguments)
