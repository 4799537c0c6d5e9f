"""Every option of onnxruntime by both pipelines: the same parameters, a result as near to float, or a reason.

``python -m tests.upstream.options_table`` writes options.md beside this file.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType
from onnxruntime.quantization import quantize_static as theirs

import ort_vitis_plugin as vitis
from ort_vitis_plugin.custom_ops import register
from ort_vitis_plugin.entry.attach import original
from ort_vitis_plugin.errors import UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.options.ort_options import OrtOptions
from ort_vitis_plugin.testing import graph

RNG = np.random.default_rng(0)
PAGE = Path(__file__).with_name("options.md")
FORMATS = (QuantFormat.QDQ, QuantFormat.QOperator)
SLACK = 0.5  # decibels within which two results are as near to float

BODY = (
    "c = Conv<kernel_shape = [3, 3]>(x, w, b) r = Relu(c) p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r) "
    "g = Sigmoid(p) f = Flatten(g) m = MatMul(f, k) n = Gemm(m, l, d) y = Add(m, n)"
)


def network() -> ModelProto:
    """The operators that options speak of."""
    values = {
        "w": RNG.standard_normal((4, 3, 3, 3)) * 0.3,
        "b": RNG.standard_normal(4) * 0.1,
        "k": RNG.standard_normal((36, 8)) * 0.3,
        "l": RNG.standard_normal((8, 8)) * 0.3,
        "d": RNG.standard_normal(8) * 0.1,
    }
    arrays = {name: value.astype(np.float32) for name, value in values.items()}
    model = graph(f"t (float[1, 3, 8, 8] x) => (float[1, 8] y) {{ {BODY} }}", 17, arrays)
    for node in model.graph.node:
        node.name = node.op_type
    return model


MODEL = network()
FEEDS = [{"x": RNG.standard_normal((1, 3, 8, 8)).astype(np.float32)} for _ in range(8)]

# A value for each key that is not its default, and arguments without which it would do nothing.
VALUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "ActivationSymmetric": (True, {}),
    "WeightSymmetric": (False, {}),
    "ActivationRestrictedAsymmetric": (True, {"activation_type": QuantType.QUInt8}),
    "MinimumRealRange": (4.0, {}),
    "TensorQuantOverrides": ({"m": [{"rmin": np.float32(-2), "rmax": np.float32(2)}]}, {}),
    "BlockSize": (4, {"op_types_to_quantize": ["MatMul"]}),
    "EnableSubgraph": (True, {}),
    "ForceQuantizeNoInputCheck": (True, {"op_types_to_quantize": ["MaxPool", "MatMul"]}),
    "MatMulConstBOnly": (True, {}),
    "QuantizeBias": (False, {}),
    "OpTypesToExcludeOutputQuantization": (["MatMul"], {}),
    "QDQOpTypePerChannelSupportToAxis": ({"MatMul": 1}, {"per_channel": True}),
    "AddQDQPairToWeight": (True, {}),
    "DedicatedQDQPair": (True, {}),
    "UseQDQContribOps": (True, {}),
    "QDQKeepRemovableActivations": (True, {}),
    "QDQDisableWeightAdjustForInt32Bias": (True, {}),
    "DefaultTensorType": (1, {}),
    "extra.Sigmoid.nnapi": (True, {"activation_type": QuantType.QUInt8}),
    "CalibTensorRangeSymmetric": (True, {}),
    "CalibMovingAverage": (True, {}),
    "CalibMovingAverageConstant": (0.5, {"also": {"CalibMovingAverage": True}}),
    "CalibMaxIntermediateOutputs": (16, {}),
    "CalibStridedMinMax": (4, {}),
    "CalibPercentile": (99.0, {"calibrate_method": CalibrationMethod.Percentile}),
    "SmoothQuant": (True, {}),
    "SmoothQuantAlpha": (0.7, {}),
    "SmoothQuantFolding": (False, {}),
}
REFUSED = (("BlockSize", "QOperator"),)
PACKAGE = "not compared: onnxruntime's code needs the package neural-compressor 2.x for it"
FEW = (
    "between the last of few values (64 of a tensor here) ours interpolates, as numpy.percentile, and theirs takes the "
    "greatest: 3 dB on this network"
)
AVERAGE = (
    "ours averages sample by sample with the constant, as documented; theirs takes the plain mean of all samples that "
    "it holds at once, and uses the constant between such batches only"
)
# What is neither the same nor as near to float, and why.
REASONS: dict[tuple[str, str], str] = {
    **{(key, each): AVERAGE for key in VALUES if "MovingAverage" in key for each in ("QDQ", "QOperator")},
    **{("CalibPercentile", each): FEW for each in ("QDQ", "QOperator")},
    **{(key, each): PACKAGE for key in VALUES if key.startswith("SmoothQuant") for each in ("QDQ", "QOperator")},
}


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """The samples, each once, or a part of them."""

    def __init__(self) -> None:
        self.set_range(0, len(FEEDS))

    def __len__(self) -> int:
        return len(FEEDS)

    def set_range(self, start_index: int, end_index: int) -> None:
        self.rest = iter(FEEDS[start_index:end_index])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


@dataclass(frozen=True)
class Row:
    """What came of one option in one format."""

    key: str
    quant_format: str
    found: str

    @property
    def line(self) -> str:
        """The row as the page has it."""
        return f"| {self.key} | {self.quant_format} | {self.found} |"


def _arguments(key: str, quant_format: QuantFormat) -> dict[str, Any]:
    value, more = VALUES[key]
    given = dict(more)
    return {
        "quant_format": quant_format,
        "calibrate_method": CalibrationMethod.MinMax,
        **{name: each for name, each in given.items() if name != "also"},
        "extra_options": {key: value, **given.get("also", {})},
    }


def _by_them(arguments: dict[str, Any]) -> ModelProto:
    model = ModelProto()
    model.CopyFrom(MODEL)  # onnxruntime's code writes into it
    with tempfile.TemporaryDirectory() as folder:
        original(theirs)(model, str(Path(folder) / "q.onnx"), Reader(), **arguments)
        return onnx.load(str(Path(folder) / "q.onnx"))


def _by_us(arguments: dict[str, Any]) -> ModelProto:
    # Whatever this CPU can do, and what the option does alone.
    options = {**arguments["extra_options"], "AvoidSaturation": False, "Recipe": "plain"}
    return vitis.quantize_static(MODEL, None, Reader(), **{**arguments, "extra_options": options}).model


def parameters(model: ModelProto) -> dict[str, NDArray[Any]]:
    """{initializer that holds a scale or zero point: its values}, by tensor."""
    ends = ("_scale", "_zero_point")
    return {
        tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer if tensor.name.endswith(ends)
    }


def _same(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> bool:
    # Who shares the parameters of another tensor has them under a name of its own too in our files.
    return one.keys() <= other.keys() and all(
        one[name].size == other[name].size and np.allclose(one[name].ravel(), other[name].ravel(), rtol=1e-6, atol=0)
        for name in one
    )


def _sqnr(model: ModelProto) -> float:
    def outputs(each: ModelProto) -> NDArray[Any]:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        register(options)
        session = ort.InferenceSession(each.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return np.concatenate([session.run(None, feed)[0] for feed in FEEDS])

    return sqnr_db(outputs(MODEL), outputs(model))


def rows(keys: Iterable[str] = VALUES) -> Iterator[Row]:
    """One row per option and format."""
    for key in keys:
        for quant_format in FORMATS:
            yield Row(key, quant_format.name, _found(key, quant_format))


def _found(key: str, quant_format: QuantFormat) -> str:
    reason = REASONS.get((key, quant_format.name))
    if reason is not None:
        return reason
    arguments = _arguments(key, quant_format)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            right = _by_us(arguments)
        except UnsupportedError as error:
            return f"{'' if (key, quant_format.name) in REFUSED else 'UNEXPLAINED: '}ours refuses before work: {error}"
        try:
            left = _by_them(dict(arguments))
        except Exception as error:
            return f"theirs fails ({type(error).__name__}), ours does not"
    if _same(parameters(left), parameters(right)):
        return "the same parameters"
    one, other = _sqnr(left), _sqnr(right)
    return "as near to float, or nearer" if other >= one - SLACK else f"UNEXPLAINED: {other:.1f} dB, theirs {one:.1f}"


def page() -> str:
    """options.md."""
    missing = {known.key for known in OrtOptions.options()} - VALUES.keys()
    lines = [
        "# onnxruntime's options in both pipelines",
        "",
        "Written by `python -m tests.upstream.options_table`; one small network, 8 samples, MinMax unless the option",
        "is for another method. Ours against onnxruntime's own code.",
        "",
        "| option | format | what comes of it |",
        "|---|---|---|",
        *(row.line for row in rows()),
        *(f"| {key} | | MISSING |" for key in sorted(missing)),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(PAGE.read_text(encoding="utf-8"))
