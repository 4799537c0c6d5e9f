"""Hand-made quantized graphs in few words, and what holds for the twin of any of them."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort

from ort_vitis_plugin import custom_ops, evaluation_twin
from ort_vitis_plugin.testing import LEVELS, graph

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from onnx import ModelProto

    from ort_vitis_plugin.convert.evaluation_twin import Twin

UNOPTIMIZED, FULL = LEVELS


def pair(source: str, target: str, scale: str, zero: str = "u128") -> str:
    """Quantize and dequantize nodes from one tensor to another."""
    ends = f"{scale}, {zero}"
    return f"{target}_q = QuantizeLinear({source}, {ends})\n{target} = DequantizeLinear({target}_q, {ends})"


def vitis_pair(source: str, target: str, scale: str, zero: str, domain: str = "com.vai.quantize") -> str:
    """The same as a pair of custom nodes."""
    prefix = "Vitis" if domain == "com.vai.quantize" else "Extended"
    return (
        f"{target}_q = {domain}.{prefix}QuantizeLinear({source}, {scale}, {zero})\n"
        f"{target} = {domain}.{prefix}DequantizeLinear({target}_q, {scale}, {zero})"
    )


def network(shapes: str, body: str, opset: int = 17, domain: str = "", **constants: NDArray[Any] | float) -> ModelProto:
    """``shapes`` ("float[1, 2] x => float[1, 2] y") and nodes; ``p5`` is 2^-5, ``u128`` and ``i0`` are zero points."""
    given: dict[str, NDArray[Any]] = {f"p{position}": np.array(2.0**-position, np.float32) for position in range(1, 20)}
    given |= {f"u{zero}": np.array(zero, np.uint8) for zero in (0, 127, 128)} | {"i0": np.array(0, np.int8)}
    given |= {
        name: np.array(value, np.float32) if isinstance(value, float) else value for name, value in constants.items()
    }
    used = {
        name: array
        for name, array in given.items()
        if name in body.replace(",", " ").replace(")", " ").split() or f"({name}" in body
    }
    inputs, outputs = shapes.split(" => ")
    imports = f'"" : {opset}' + (f', "{domain}" : 1' if domain else "")
    model = graph(
        f"<ir_version: 8, opset_import: [{imports}]>\nnetwork ({inputs}) => ({outputs}) {{\n{body}\n}}", constants=used
    )
    custom_ops.add_functions(model)
    onnx.checker.check_model(model)
    return model


def session(model: ModelProto, level: Any, options: ort.SessionOptions | None = None) -> ort.InferenceSession:
    options = options or ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def kernels(twin: Twin) -> Counter[str]:
    """The op types that onnxruntime computes of a twin."""
    with tempfile.TemporaryDirectory() as folder:
        options = twin.session_options()
        options.optimized_model_filepath = str(Path(folder) / "optimized.onnx")
        session(twin.model, FULL, options)
        return Counter(node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node)


def check_twin(model: ModelProto, samples: list[Mapping[str, NDArray[Any]]], *, steady: bool = True) -> Twin:
    """The twin, once it is certain that it gives the bits of the model without optimization, at both levels.

    ``steady`` says that the model gives them at both levels, too. Otherwise optimization changes model and twin alike.
    Scales that stand for ties ("finer biases") do so at full optimization alone.
    """
    before = model.SerializeToString(deterministic=True)
    twin = evaluation_twin(model)
    assert model.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(twin.model, full_check=True)
    original = session(model, UNOPTIMIZED)
    optimized = original if steady else session(model, FULL, twin.session_options())
    twins = [session(twin.model, level, twin.session_options()) for level in LEVELS]
    assert [value.name for value in twins[1].get_inputs()] == [value.name for value in original.get_inputs()]
    for sample in samples:
        wanted = original.run(None, dict(sample))
        expected = (wanted, optimized.run(None, dict(sample)))
        for level, arrays, other in zip(LEVELS, expected, twins, strict=True):
            if level != FULL and "finer biases" in twin.rewritten:
                continue
            for array, found in zip(arrays, other.run(None, dict(sample)), strict=True):
                assert array.dtype == found.dtype
                np.testing.assert_array_equal(array.view(np.uint8), found.view(np.uint8), err_msg=str(level))
    return twin


def on_grid(shape: tuple[int, ...], position: int, seed: int = 0) -> NDArray[np.float32]:
    """Numbers that int8 codes at a position stand for, their ends included."""
    codes = np.random.default_rng(seed).integers(-128, 128, shape)
    return (codes * 2.0**-position).astype(np.float32)


def codes_of(shape: tuple[int, ...], seed: int = 0) -> NDArray[np.int8]:
    """Random int8 weights."""
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
