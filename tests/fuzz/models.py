"""Models broken byte by byte, or field by field, and given to every verb."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, TensorProto

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.testing import graph

from .attack import Attack, mutated

CONV = """t (float[1, 3, 6, 6] x) => (float[1, 4] y) {
    h = Conv(x, w, b) r = Relu(h) g = GlobalAveragePool(r) f = Flatten(g) y = MatMul(f, m)
}"""
BRANCH = """t (float[1, 3] x) => (float[1, 3] y) {
    s = ReduceSum<keepdims = 0>(x) zero = Constant<value = float {0.0}>() c = Greater(s, zero)
    y = If (c) <
        then_branch = a () => (float[1, 3] p) { p = Relu(x) },
        else_branch = b () => (float[1, 3] q) { q = Neg(x) }>
}"""
VERBS = (
    "quantize",
    "calibrate",
    "evaluate",
    "errors",
    "forecast",
    "fix-shape",
    "dump",
    "preprocess",
    "convert-fp16-to-fp32",
    "convert-nchw-to-nhwc",
    "convert-vitis-to-standard",
    "convert-standard-to-vitis",
    "convert-qdq-to-qoperator",
    "convert-npu-to-cpu",
    "convert-quantized-to-float",
    "convert-domain",
    "remove-initializers-from-inputs",
)


@cache
def conv() -> ModelProto:
    """A small convolutional network."""
    rng = np.random.default_rng(0)
    shapes = {"w": (4, 3, 3, 3), "b": (4,), "m": (4, 4)}
    return graph(
        CONV, constants={name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    )


@cache
def models() -> tuple[ModelProto, ...]:
    """A network, one with branches, and quantized ones in three formats."""
    import ort_vitis_plugin as vitis

    feeds = [{"x": np.random.default_rng(1).standard_normal((1, 3, 6, 6)).astype(np.float32)}]
    formats = (vitis.QuantFormat.QDQ, vitis.VitisQuantFormat.QDQ, vitis.VitisQuantFormat.FixNeuron)
    quantized = [vitis.quantize_static(conv(), None, feeds, quant_format=each).model for each in formats]
    return conv(), graph(BRANCH), *quantized


def _wrong_dims(model: ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
    tensor.dims[:] = [int(rng.choice([-1, 0, 1, 7, 2**31, 2**40, 2**62])) for _ in range(int(rng.integers(5)))]


def _wrong_type(model: ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
    tensor.data_type = int(rng.integers(-1, 40))


def _external(model: ModelProto, rng: np.random.Generator) -> None:
    tensor = model.graph.initializer[int(rng.integers(len(model.graph.initializer)))]
    tensor.data_location = TensorProto.EXTERNAL
    for key in rng.choice(["location", "offset", "length", "checksum"], int(rng.integers(4))):
        value = rng.choice(["beside", "", "/etc/passwd", "../x", "-1", "9" * 30, "w.bin", "x", "."])
        tensor.external_data.add(key=str(key), value=str(value))


def _wrong_input(model: ModelProto, rng: np.random.Generator) -> None:
    kind = model.graph.input[0].type.tensor_type
    kind.elem_type = int(rng.integers(0, 30))
    if kind.shape.dim:
        kind.shape.dim[0].dim_value = int(rng.choice([-1, 0, 2, 2**31, 2**40]))


def _wrong_attribute(model: ModelProto, rng: np.random.Generator) -> None:
    entries = [entry for node in model.graph.node for entry in node.attribute]
    if entries:
        entry = entries[int(rng.integers(len(entries)))]
        entry.type = int(rng.integers(0, 15))
        entry.i = int(rng.choice([-(2**31), -1, 0, 2**31, 2**62]))
        entry.ints[:] = [int(number) for number in rng.choice([-(2**31), -1, 0, 3, 2**31, 2**62], 4)]


def _wrong_wires(model: ModelProto, rng: np.random.Generator) -> None:
    names = [name for node in model.graph.node for name in (*node.input, *node.output)] + ["", "nowhere"]
    node = model.graph.node[int(rng.integers(len(model.graph.node)))]
    wires = node.input if rng.integers(2) else node.output
    if wires:
        wires[int(rng.integers(len(wires)))] = names[int(rng.integers(len(names)))]


def _wrong_operator(model: ModelProto, rng: np.random.Generator) -> None:
    node = model.graph.node[int(rng.integers(len(model.graph.node)))]
    node.op_type = str(rng.choice(["Gemm", "Loop", "FixNeuron", "QuantizeLinear", "", "Nothing", "Expand", "Resize"]))
    node.domain = str(rng.choice(["", "ai.onnx.contrib", "com.vai.quantize", "com.microsoft", "nobody"]))


def _wrong_opset(model: ModelProto, rng: np.random.Generator) -> None:
    model.ir_version = int(rng.choice([0, 3, 8, 99, 2**40]))
    for entry in model.opset_import:
        entry.version = int(rng.choice([-1, 0, 1, 7, 13, 25, 999, 2**40]))


FIELDS: tuple[Callable[[ModelProto, np.random.Generator], None], ...] = (
    _wrong_dims,
    _wrong_type,
    _external,
    _wrong_input,
    _wrong_attribute,
    _wrong_wires,
    _wrong_operator,
    _wrong_opset,
)


def broken_model(rng: np.random.Generator) -> tuple[str, bytes]:
    """What was done, and the bytes of the model."""
    model = ModelProto()
    chosen = int(rng.integers(len(models())))
    model.CopyFrom(models()[chosen])
    if rng.integers(2):
        data = mutated(model.SerializeToString(), rng)
        return f"model {chosen} with other bytes", data
    change = FIELDS[int(rng.integers(len(FIELDS)))]
    if model.graph.initializer or change not in (_wrong_dims, _wrong_type, _external):
        change(model, rng)
    return f"model {chosen}, {change.__name__}", model.SerializeToString()


def attack(rng: np.random.Generator, folder: Path, number: int) -> Attack:
    """A verb on a broken model."""
    done, data = broken_model(rng)
    verb = VERBS[int(rng.integers(len(VERBS)))]
    path, output, whole = folder / "m.onnx", folder / "out.onnx", folder / "float.onnx"
    path.write_bytes(data)
    onnx.save(conv(), whole)
    arguments = {
        "quantize": [str(path), "-o", str(output), "-q"],
        "calibrate": [str(path), "-o", str(folder / "c.npz"), "--data", str(folder / "x.npz")],
        "evaluate": [str(whole), str(path)] if rng.integers(2) else [str(path), str(whole)],
        "errors": [str(whole), str(path)] if rng.integers(2) else [str(path), str(whole)],
        "forecast": [str(path)],
        "fix-shape": [str(path), "-o", str(output), "--fix-shape", "x=1,3,6,6"],
        "dump": [str(path), "-o", str(folder / "dump")],
    }.get(verb, [str(path), "-o", str(output)])
    if verb == "calibrate":
        np.savez(folder / "x.npz", x=np.zeros((2, 3, 6, 6), np.float32))
    if verb in ("quantize", "preprocess") and rng.integers(2):
        arguments.append("--external-data")
    return Attack(f"{verb}: {done}", lambda: main([verb, *arguments]))
