"""Runs every op over every type, layout and awkward number, and compares the bits with the numpy reference.

    python sweep.py {library|functions|mixed} [OPSET [LAYOUT...]]

``library`` runs the compiled kernels (ORT_VITIS_ISA picks the copy), ``functions`` the model-local functions without
any library at both ends of ORT's optimisation levels, ``mixed`` one model that quantizes to all eight types, in all
four ways. A process of its own, because a process picks its instruction set once. Prints each mismatch and a last line
"CASES MISMATCHES"; exit status 77 says that this processor does not run the copy that ORT_VITIS_ISA names.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ctypes
import itertools
import os
import sys
from collections.abc import Collection, Iterator

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

from ort_vitis_plugin import custom_ops

DOMAIN = custom_ops.VAI_DOMAIN
TYPES = {
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "uint16": TensorProto.UINT16,
    "int16": TensorProto.INT16,
    "uint32": TensorProto.UINT32,
    "int32": TensorProto.INT32,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
}
LAYOUTS: dict[str, tuple[tuple[int, ...], int | None]] = {
    "tensor": ((4096,), None),
    "first": ((7, 33, 5), 0),
    "middle": ((5, 7, 41), 1),
    "last": ((41, 5, 7), -1),
    "negative": ((4, 6, 37), -2),
    "long last": ((4, 6, 37), 2),
}
SCALES = (0.25, 0.1, 2.0**-20, 2.0**-140, 6.5e4, 2.0**100)
rng = np.random.default_rng(20240229)


def numpy_type(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def awkward(scale: float, size: int) -> np.ndarray:
    """Ties, type limits, 2^31 limits, infinities, NaN, subnormals, -0.0 in steps of scale; then random bits."""
    with np.errstate(all="ignore"):
        limits = [float(2**bits) for bits in (0, 7, 8, 15, 16, 31, 32, 63)]
        near = [
            sign * (limit + offset)
            for limit in limits
            for offset in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)
            for sign in (1, -1)
        ]
        steps = np.array([*near, *(np.arange(-20, 20) + 0.5), *(np.arange(-300, 300) / 4)], np.float32)
        fixed = [
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            -np.nan,
            1e-45,
            -1e-45,
            1.1e-38,
            3.4e38,
            -3.4e38,
            65504,
            65520,
            65536,
            3.39e38,
        ]
        head = np.concatenate([np.array(fixed, np.float32), (steps * np.float32(scale)).astype(np.float32)])
        if size <= head.size:
            return rng.permutation(head)[:size]
        bits = rng.integers(0, 2**32, size - head.size, np.uint32).view(np.float32)
        usual = (rng.standard_normal(size - head.size) * 60 * scale).astype(np.float32)
        return rng.permutation(np.concatenate([head, np.where(rng.random(bits.size) < 0.5, bits, usual)]))


def zero_points(name: str, count: int) -> Iterator[np.ndarray]:
    kind = numpy_type(name)
    if name in ("float16", "bfloat16"):
        choices = [0.0, -0.0, 1.5, -3.0]
    else:
        info = np.iinfo(kind)
        choices = [0, 1, info.min, info.max, info.max // 3]
    for choice in choices if count == 1 else choices[:1]:
        yield np.full(count, choice).astype(kind)
    if count > 1:
        yield rng.choice(np.array(choices), count).astype(kind)


def same(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Equal bits; two NaN are equal here (their payload is the kernel test's business)."""
    if left.dtype.kind in "iu":
        return left == right
    bits = np.uint16 if left.dtype.itemsize == 2 else np.uint32
    return (left.view(bits) == right.view(bits)) | (np.isnan(left) & np.isnan(right))


def session(model: onnx.ModelProto, level: ort.GraphOptimizationLevel, library: bool) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other processes wait for the cores
    if library:
        assert custom_ops.register(options)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def model_of(name: str, rank: int, axis: int | None, opset: int, functions: bool) -> onnx.ModelProto:
    """x -> Q -> DQ, FixNeuron, and a DQ of given codes; bfloat16 travels as float32, which is exact."""
    kind = TYPES[name]
    halves = name == "bfloat16"
    outside = TensorProto.FLOAT if halves else kind
    attributes = {} if axis is None else {"axis": axis}
    parameter = [] if axis is None else ["C"]
    dims = [f"d{i}" for i in range(rank)]
    nodes, zero, codes = [], "z", "c"
    if halves:
        nodes = [helper.make_node("Cast", ["z"], ["zb"], to=kind), helper.make_node("Cast", ["c"], ["cb"], to=kind)]
        zero, codes = "zb", "cb"
    nodes += [
        helper.make_node("VitisQuantizeLinear", ["x", "s", zero], ["q"], domain=DOMAIN, **attributes),
        helper.make_node("VitisDequantizeLinear", ["q", "s", zero], ["y"], domain=DOMAIN, **attributes),
        helper.make_node("VitisDequantizeLinear", [codes, "s", zero], ["yc"], domain=DOMAIN, **attributes),
    ]
    outputs = {"q": kind, "y": TensorProto.FLOAT, "yc": TensorProto.FLOAT}
    if halves:
        nodes.append(helper.make_node("Cast", ["q"], ["qf"], to=TensorProto.FLOAT))
        outputs = {"qf": TensorProto.FLOAT, "y": TensorProto.FLOAT, "yc": TensorProto.FLOAT}
    if name not in ("float16", "bfloat16"):
        widths = ("4", str(numpy_type(name).itemsize * 8))
        for width in widths if opset >= 13 else widths[1:]:  # one body per name reads the width from opset 13
            node = helper.make_node(
                "FixNeuron", ["x", "s", zero], ["f" + width], domain=DOMAIN, bit_width=width, **attributes
            )
            nodes.append(node)
            outputs["f" + width] = TensorProto.FLOAT
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, dims),
        helper.make_tensor_value_info("s", TensorProto.FLOAT, parameter),
        helper.make_tensor_value_info("z", outside, parameter),
        helper.make_tensor_value_info("c", outside, dims),
    ]
    graph = helper.make_graph(
        nodes, "sweep", inputs, [helper.make_tensor_value_info(n, t, dims) for n, t in outputs.items()]
    )
    if halves:  # what _zero_point_type reads
        graph.value_info.append(helper.make_tensor_value_info("zb", kind, parameter))
        graph.value_info.append(helper.make_tensor_value_info("cb", kind, dims))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, 1)], ir_version=8
    )
    if functions:
        custom_ops.add_functions(model)
        onnx.checker.check_model(model)
    return model


def expected(name: str, x: np.ndarray, s: np.ndarray, z: np.ndarray, c: np.ndarray, axis: int) -> dict[str, np.ndarray]:
    q = custom_ops.quantize_linear(x, s, z, axis)
    result = {
        "qf" if name == "bfloat16" else "q": q.astype(np.float32) if name == "bfloat16" else q,
        "y": custom_ops.dequantize_linear(q, s, z, axis),
        "yc": custom_ops.dequantize_linear(c, s, z, axis),
    }
    if name not in ("float16", "bfloat16"):
        for width in (4, z.dtype.itemsize * 8):
            result[f"f{width}"] = custom_ops.fix_neuron(x, s, z, width, axis)
    return result


def compare(
    label: str, runs: list[ort.InferenceSession], feeds: dict[str, np.ndarray], wanted: dict[str, np.ndarray]
) -> int:
    """Number of outputs, over all sessions, with a wrong element."""
    wrong = 0
    for run in runs:
        for output, got in zip(run.get_outputs(), run.run(None, feeds), strict=True):
            want = wanted[output.name]
            good = same(got, want) if got.shape == want.shape and got.dtype == want.dtype else np.zeros((), bool)
            if not good.all():
                wrong += 1
                if got.shape == want.shape:
                    at = tuple(np.argwhere(~good)[0])
                    print(
                        f"{label} {output.name}: {int((~good).sum())} wrong, "
                        f"x={feeds['x'][at]!r} got {got[at]!r} want {want[at]!r}"
                    )
                else:
                    print(f"{label} {output.name}: {got.dtype}{got.shape} want {want.dtype}{want.shape}")
    return wrong


def sweep(functions: bool, opset: int, layouts: Collection[str] = LAYOUTS) -> tuple[int, int]:
    cases = wrong = 0
    levels = [ort.GraphOptimizationLevel.ORT_ENABLE_ALL]
    if functions:
        levels.append(ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    for name, (layout, (shape, axis)) in itertools.product(TYPES, LAYOUTS.items()):
        if layout not in layouts or (opset < 13 and (axis is not None or name == "bfloat16")):
            continue
        model = model_of(name, len(shape), axis, opset, functions)
        runs = [session(model, level, not functions) for level in levels]
        flat = (
            [session(model_of(name, 0, None, opset, functions), level, not functions) for level in levels]
            if axis is None
            else []
        )
        count = 1 if axis is None else shape[axis]
        for scale in SCALES:
            for zero in zero_points(name, count):
                s = np.full(count, scale, np.float32)
                if axis is not None:
                    s *= rng.choice([0.5, 1, 1.1, 3], count).astype(np.float32)
                for sub_shape in (shape, (*shape[:-1], 0) if axis is None else None, ()):
                    if sub_shape is None or (sub_shape == () and axis is not None):
                        continue
                    size = int(np.prod(sub_shape))
                    x = awkward(scale, size).reshape(sub_shape)
                    kind = numpy_type(name)
                    c = rng.integers(0, 256, size * kind.itemsize, np.uint8).view(kind).reshape(sub_shape)
                    s_in, z_in = (s.reshape(()), zero.reshape(())) if axis is None else (s, zero)
                    feeds = {"x": x, "s": s_in, "z": z_in, "c": c}
                    wanted = expected(name, x, s_in, z_in, c, 1 if axis is None else axis)
                    if name == "bfloat16":
                        feeds |= {"z": z_in.astype(np.float32), "c": c.astype(np.float32)}
                    label = f"{name} {layout} {sub_shape} s={scale:g} z={zero.ravel()[0]}"
                    wrong += compare(label, flat if sub_shape == () else runs, feeds, wanted)
                    cases += 1
    return cases, wrong


def mixed(opset: int) -> tuple[int, int]:
    """All eight types in one model: one body per op then finds out the type by itself."""
    nodes, outputs, initializers, wanted = [], [], [], {}
    x = awkward(0.1, 4095).reshape(-1, 3)
    for name, kind in TYPES.items():
        zero = list(zero_points(name, 1))[1]
        for layout, attributes, count in (("t", {}, 1), ("a", {"axis": 1}, 3)):
            s = np.array([0.1, 0.25, 1.1][:count], np.float32)
            z = np.repeat(zero, count)
            tag = f"{name}_{layout}"
            shape = [] if count == 1 else [count]
            initializers += [
                helper.make_tensor(f"s_{tag}", TensorProto.FLOAT, shape, s),
                helper.make_tensor(f"z_{tag}", kind, shape, z.tobytes(), raw=True),
            ]
            nodes += [
                helper.make_node(
                    "VitisQuantizeLinear", ["x", f"s_{tag}", f"z_{tag}"], [f"q_{tag}"], domain=DOMAIN, **attributes
                ),
                helper.make_node(
                    "VitisDequantizeLinear",
                    [f"q_{tag}", f"s_{tag}", f"z_{tag}"],
                    [f"y_{tag}"],
                    domain=DOMAIN,
                    **attributes,
                ),
            ]
            outputs.append(helper.make_tensor_value_info(f"y_{tag}", TensorProto.FLOAT, ["N", 3]))
            scale, zeros = s.reshape(shape), z.reshape(shape)
            wanted[f"y_{tag}"] = custom_ops.dequantize_linear(custom_ops.quantize_linear(x, scale, zeros), scale, zeros)
            if name in ("float16", "bfloat16"):
                continue
            for width in (5, 8):
                f = f"f{width}_{tag}"
                nodes.append(
                    helper.make_node(
                        "FixNeuron", ["x", f"s_{tag}", f"z_{tag}"], [f], domain=DOMAIN, bit_width=width, **attributes
                    )
                )
                outputs.append(helper.make_tensor_value_info(f, TensorProto.FLOAT, ["N", 3]))
                wanted[f] = custom_ops.fix_neuron(x, scale, zeros, width)
    graph = helper.make_graph(
        nodes, "mixed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])], outputs, initializers
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    custom_ops.add_functions(model)
    onnx.checker.check_model(model)
    levels = (ort.GraphOptimizationLevel.ORT_ENABLE_ALL, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    runs = [
        session(model, level, library) for level in levels for library in (False, custom_ops.find_library() is not None)
    ]
    return len(wanted), compare("mixed", runs, {"x": x}, wanted)


if __name__ == "__main__":
    what, opset = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 17
    wanted_isa = os.environ.get("ORT_VITIS_ISA")
    if what == "library" and wanted_isa:
        chosen = ctypes.CDLL(custom_ops.get_library_path()).ort_vitis_isa
        chosen.restype = ctypes.c_char_p
        if chosen() != wanted_isa.encode():
            sys.exit(77)
    cases, wrong = mixed(opset) if what == "mixed" else sweep(what == "functions", opset, sys.argv[3:] or LAYOUTS)
    print(cases, wrong)
    sys.exit(wrong > 0)
