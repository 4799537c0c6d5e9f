"""Codes at the ends of a model are how values come and go: what lies between them is float, and is quantized."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from onnxruntime.quantization import QuantFormat, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.pipeline.validation import AlreadyQuantizedWarning, is_quantized

from .checks import (
    CONFIGURATIONS,
    Build,
    constants_of,
    decibels,
    model,
    nodes,
    quantized,
    samples,
    weights,
    with_configurations,
)
from .test_stored_weights import codes

CONV = "c = Conv<pads = [1, 1, 1, 1]>(d, w, b) r = Relu(c) "
CONSTANTS = {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4), "k": weights(3, 4, 4, 1, 1), "z": np.uint8(128)}
STEP, COARSE = {"s": np.float32(2**-7)}, {"q": np.float32(0.05)}
ENDS: dict[str, Build] = {
    "a camera's bytes": lambda: model(
        f"t (uint8[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y) {{ d = DequantizeLinear(x, s, z) {CONV} y = Conv(r, k) }}",
        {**CONSTANTS, **STEP},
    ),
    "a camera's bytes, channels last": lambda: model(
        "t (uint8[1, 6, 6, 3] x) => (float[1, 4, 6, 6] y) { m = Transpose<perm = [0, 3, 1, 2]>(x) "
        f"d = DequantizeLinear(m, s, z) {CONV} y = Conv(r, k) }}",
        {**CONSTANTS, **STEP},
    ),
    "a result in codes": lambda: model(
        f"t (float[1, 3, 6, 6] d) => (uint8[1, 4, 6, 6] y) {{ {CONV} h = Conv(r, k) y = QuantizeLinear(h, q, z) }}",
        {**CONSTANTS, **COARSE},
    ),
    "codes in, codes out": lambda: model(
        f"t (uint8[1, 3, 6, 6] x) => (uint8[1, 6, 6, 4] y) {{ d = DequantizeLinear(x, s, z) {CONV} h = Conv(r, k) "
        "u = QuantizeLinear(h, q, z) y = Transpose<perm = [0, 2, 3, 1]>(u) }",
        {**CONSTANTS, **STEP, **COARSE},
    ),
    "a table of codes": lambda: model(
        "t (int64[1, 4] i) => (float[1, 4, 6] y) { g = Gather(c, i) e = DequantizeLinear(g, s) y = MatMul(e, w) }",
        {"c": codes(16, 8), "w": weights(3, 8, 6), **STEP},
    ),
}


def images(source: ModelProto) -> list[dict[str, np.ndarray]]:
    """Bytes of all values, not of 0 and 1 alone."""
    draw = np.random.default_rng(0).integers
    return [
        {
            name: draw(0, 256, value.shape).astype(np.uint8) if value.dtype == np.uint8 else value
            for name, value in feed.items()
        }
        for feed in samples(source)
    ]


@pytest.mark.parametrize(("case", "configuration"), with_configurations(ENDS, 2))
def test_what_lies_between_is_quantized(case: str, configuration: str) -> None:
    source = ENDS[case]()
    assert not is_quantized(Graph(source))
    with warnings.catch_warnings():
        warnings.simplefilter("error", AlreadyQuantizedWarning)
        result = quantize_static(source, None, images(source), **CONFIGURATIONS[configuration])
    assert result.report.quantized
    assert decibels(source, result.model, images(source)) > 20


BYTES = tuple(case for case in ENDS if case.startswith("a camera"))


@pytest.mark.parametrize("case", BYTES)
@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
def test_bytes_are_multiplied_as_they_come(case: str, form: QuantFormat) -> None:
    source = ENDS[case]()
    result = quantized(source, images(source), quant_format=form, activation_type=QuantType.QUInt8)
    stored = {each.name: each.data_type for each in result.model.graph.initializer}
    assert stored["b_quantized"] == TensorProto.INT32
    scale = constants_of(result)["w_scale"] * STEP["s"]
    if form is QuantFormat.QDQ:
        assert constants_of(result)["b_quantized_scale"] == pytest.approx(scale)
    else:
        first = nodes(result, "QLinearConv")[0]
        assert first.input[0] == ("x" if "last" not in case else "m")
        assert not nodes(result, "QuantizeLinear", "Conv")
    assert decibels(source, result.model, images(source)) > 20


@pytest.mark.parametrize("case", ENDS)
def test_what_was_quantized_is_handed_back(case: str) -> None:
    once = quantized(ENDS[case](), images(ENDS[case]())).model
    with pytest.warns(AlreadyQuantizedWarning):
        again = quantize_static(once, None, images(once)).model
    assert [node.op_type for node in again.graph.node] == [node.op_type for node in once.graph.node]
