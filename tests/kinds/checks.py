"""How the tests of kinds quantize a graph and judge the result against float."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.report.report import Result

Feed = dict[str, NDArray[Any]]
Arguments = dict[str, Any]

# Beyond basic optimization onnxruntime's integer kernels saturate 16-bit sums on CPUs without VNNI.
FAITHFUL = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC)
EVERYTHING = ort.GraphOptimizationLevel.ORT_ENABLE_ALL

U8S8: Arguments = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
S8S8: Arguments = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8}
FLOAT_SCALES: Arguments = {"calibrate_method": CalibrationMethod.MinMax}
POWERS: Arguments = {"calibrate_method": PowerOfTwoMethod.MinMSE, "extra_options": {"ActivationSymmetric": True}}

CONFIGURATIONS: dict[str, Arguments] = {
    "u8s8": {**U8S8, **FLOAT_SCALES},
    "per channel": {**S8S8, **FLOAT_SCALES, "per_channel": True},
    "percentile": {**U8S8, "calibrate_method": CalibrationMethod.Percentile},
    "entropy": {**S8S8, "calibrate_method": CalibrationMethod.Entropy},
    "documented default": {},
    "non-overflow": {**POWERS, **U8S8, "calibrate_method": PowerOfTwoMethod.NonOverflow},
    "npu": {**U8S8, "enable_dpu": True},
    "npu raw": {**U8S8, "enable_dpu": True, "optimize_model": False},
    "npu with cle": {**S8S8, "enable_dpu": True, "include_cle": True},
    "qoperator": {**U8S8, **FLOAT_SCALES, "quant_format": QuantFormat.QOperator, "reduce_range": True},
    "fix neuron": {**POWERS, **S8S8, "quant_format": VitisQuantFormat.FixNeuron},
    "vitis int16": {
        **POWERS,
        "quant_format": VitisQuantFormat.QDQ,
        "activation_type": VitisQuantType.QInt16,
        "weight_type": VitisQuantType.QInt16,
    },
    "vitis bfloat16": {
        **POWERS,
        "quant_format": VitisQuantFormat.QDQ,
        "activation_type": VitisQuantType.QBFloat16,
        "weight_type": VitisQuantType.QBFloat16,
    },
    "int16 activations": {**FLOAT_SCALES, "activation_type": QuantType.QInt16, "weight_type": QuantType.QInt8},
    "dedicated pairs": {**U8S8, **FLOAT_SCALES, "extra_options": {"DedicatedQDQPair": True}},
    "pairs on weights": {**POWERS, "extra_options": {"AddQDQPairToWeight": True, "ActivationSymmetric": True}},
}


def with_configurations(names: Iterable[str], by_default: int = 2) -> list[Any]:
    """All pairs of (name, configuration); ``by_default`` of each name run always, the others in the slow suite."""
    count = len(CONFIGURATIONS)
    return [
        pytest.param(name, configuration, marks=() if (at + 7 * number) % count < by_default else pytest.mark.slow)
        for number, name in enumerate(names)
        for at, configuration in enumerate(CONFIGURATIONS)
    ]


def model(text: str, constants: Mapping[str, Any] | None = None, opset: int = 17, ir_version: int = 8) -> ModelProto:
    """A model in ONNX's text form, as an exporter writes it: no shapes of inner tensors."""
    if not text.lstrip().startswith("<"):
        text = f'<ir_version: {ir_version}, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n{text}'
    proto = onnx.parser.parse_model(text)
    for name, value in (constants or {}).items():
        array = np.asarray(value)
        array = array.astype(np.float32) if array.dtype == np.float64 else array
        proto.graph.initializer.append(numpy_helper.from_array(np.array(array, order="C"), name))
    return proto


def weights(seed: int, *shape: int, scale: float = 0.5) -> NDArray[np.float32]:
    """Normal values; the same for the same seed and shape."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def samples(proto: ModelProto, count: int = 4, free: int = 2) -> list[Feed]:
    """Uniform in [-1, 1] for floats, 0 or 1 for others; free dimensions are ``free``."""
    generator = np.random.default_rng(7)
    constants = {tensor.name for tensor in proto.graph.initializer}
    feeds = []
    for _ in range(count):
        feed: Feed = {}
        for value in proto.graph.input:
            if value.name in constants:
                continue
            kind = value.type.tensor_type
            shape = [dim.dim_value if dim.HasField("dim_value") else free for dim in kind.shape.dim]
            dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type))
            drawn: Any = generator.uniform(-1, 1, shape)
            if dtype.kind != "f":
                drawn = generator.integers(0, 2, shape)
            feed[value.name] = np.asarray(drawn).astype(dtype)
        feeds.append(feed)
    return feeds


def quantized(source: Any, reader: Any = None, output: Any = None, **arguments: Any) -> Result:
    """Through our door; MinMax and QUInt8/QInt8 unless told otherwise. No warning passes unseen."""
    arguments = {**(U8S8 | FLOAT_SCALES), **arguments}
    return quantize_static(source, output, samples(source) if reader is None else reader, **arguments)


def run_at(
    proto: ModelProto | str, feeds: Iterable[Feed], level: Any = FAITHFUL[0], libraries: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Outputs by name for every feed."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = level
    for library in libraries:
        options.register_custom_ops_library(library)
    source = proto if isinstance(proto, str) else proto.SerializeToString()
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    return [dict(zip(names, session.run(names, feed), strict=True)) for feed in feeds]


def _unnamed(proto: ModelProto) -> ModelProto:
    """Without names of nodes: onnxruntime refuses equal ones."""
    copy = ModelProto()
    copy.CopyFrom(proto)
    for node in copy.graph.node:
        node.name = ""
    return copy


def decibels(
    original: ModelProto,
    result: ModelProto | str,
    feeds: list[Feed],
    outputs: Iterable[str] | None = None,
    libraries: Iterable[str] = (),
) -> float:
    """The least SQNR of any float output at any level that computes as the model says."""
    onnx.checker.check_model(result, full_check=not isinstance(result, str))
    run_at(result, feeds[:1], EVERYTHING, libraries)
    reference = run_at(_unnamed(original), feeds, libraries=libraries)
    worst = np.inf
    for level in FAITHFUL:
        found = run_at(result, feeds, level, libraries)
        assert list(found[0]) == list(reference[0]), "outputs were renamed, lost or put in another order"
        for name in outputs or reference[0]:
            pairs = [(r[name], f[name]) for r, f in zip(reference, found, strict=True)]
            if not isinstance(pairs[0][0], np.ndarray):
                continue
            assert all(r.shape == f.shape and r.dtype == f.dtype for r, f in pairs), f"{name} has another shape or type"
            if pairs[0][0].dtype.kind != "f":
                continue
            wanted = np.concatenate([r.ravel() for r, _ in pairs])
            got = np.concatenate([f.ravel() for _, f in pairs])
            finite = np.isfinite(wanted)
            assert np.isfinite(got[finite]).all(), f"{name} is not finite"
            worst = min(worst, sqnr_db(wanted[finite], got[finite]))
    return worst


def assert_close(
    original: ModelProto,
    result: Result | ModelProto | str,
    least: float,
    feeds: list[Feed] | None = None,
    outputs: Iterable[str] | None = None,
) -> None:
    """The result is valid, loads at every level, and is within ``least`` decibels of float."""
    proto = result.model if isinstance(result, Result) else result
    found = decibels(original, proto, samples(original) if feeds is None else feeds, outputs)
    assert found >= least, f"{found:.1f} dB, below {least} dB"


def nodes(result: Result | ModelProto, *op_types: str) -> list[NodeProto]:
    proto = result.model if isinstance(result, Result) else result
    return [node for node in proto.graph.node if not op_types or node.op_type in op_types]


def constants_of(result: Result | ModelProto) -> dict[str, NDArray[Any]]:
    proto = result.model if isinstance(result, Result) else result
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}


def dequantizer(result: Result | ModelProto, tensor: str) -> NodeProto:
    """The DequantizeLinear that makes a tensor."""
    made = {name: node for node in nodes(result) for name in node.output}
    node = made.get(tensor)
    assert node is not None, f"{tensor} is made by no node"
    assert node.op_type.endswith("DequantizeLinear"), f"{tensor} is made by {node.op_type}"
    return node


def scale_of(result: Result | ModelProto, tensor: str) -> NDArray[Any]:
    """The scale behind the DequantizeLinear that makes ``tensor``."""
    return constants_of(result)[dequantizer(result, tensor).input[1]]


def stored(result: Result | ModelProto, tensor: str) -> NDArray[Any]:
    """The integer codes behind the DequantizeLinear that makes ``tensor``."""
    return constants_of(result)[dequantizer(result, tensor).input[0]]


@contextlib.contextmanager
def expected_warnings(*categories: type[Warning]) -> Iterator[None]:
    """Warnings of these categories are part of the answer."""
    with warnings.catch_warnings():
        for category in categories:
            warnings.simplefilter("ignore", category)
        yield


Build = Callable[[], ModelProto]
FLOAT, FLOAT16, DOUBLE, INT64, BOOL = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.DOUBLE,
    TensorProto.INT64,
    TensorProto.BOOL,
)
