"""Compiled kernels, functions on stock onnxruntime and the numpy reference give the same bits."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ort_vitis_block import BLOCK_TYPES, add_block_functions, block_floating_point, microscaling
from ort_vitis_plugin import custom_ops

Floats = NDArray[np.float32]
Attributes = Mapping[str, int | str]
Node = tuple[str, Attributes]


def attribute_sets() -> list[Node]:
    """Every block type with every rounding, and widths and blocks that no type has."""
    found: dict[str, Node] = {}
    for declared in BLOCK_TYPES.values():
        for rounding in (0, 1, 2):
            node = declared.op_type(), declared.attributes(1) | {"rounding_mode": rounding}
            found[str(node)] = node
    for block, bits in ((12, 10), (5, 18), (1000, 32), (1, 16)):
        found[f"{block} {bits}"] = "BFPFixNeuron", {"block_size": block, "bit_width": bits, "rounding_mode": 2}
    prime: dict[str, int | str] = {"bfp_method": "to_bfp_prime", "block_size": 12, "rounding_mode": 2}
    found["fours"] = "BFPFixNeuron", prime | {"sub_block_size": 4, "sub_block_shift_bits": 3, "bit_width": 14}
    found["threes"] = "BFPFixNeuron", prime | {"sub_block_size": 3, "sub_block_shift_bits": 0}
    found["fp8 of 20"] = "MXFixNeuron", {"element_dtype": "fp8_e4m3", "block_size": 20}
    found["defaults of BFP"] = "BFPFixNeuron", {}
    found["defaults of MX"] = "MXFixNeuron", {}
    return list(found.values())


def hard_inputs() -> dict[str, Floats]:
    """Matrices of 64 columns, so that blocks are rows of 1, 2, 4 or 8 pieces."""
    rng = np.random.default_rng(8)
    shape = (48, 64)
    tiny = rng.integers(0, 2**23, shape).astype(np.uint32).view(np.float32)
    signs = rng.choice(np.array([-1, 1], np.float32), shape)
    broken = rng.standard_normal(shape).astype(np.float32)
    broken[::3, 5], broken[1::3, 9], broken[2::3, 40] = np.nan, np.inf, -np.inf
    one_huge = rng.standard_normal(shape).astype(np.float32)
    one_huge[:, ::8] = 3e38
    patterns = np.arange(2**16, dtype=np.uint32) << 16
    return {
        "all bfloat16": patterns.view(np.float32).reshape(-1, 64),
        "all bfloat16, shuffled": rng.permutation(patterns).view(np.float32).reshape(-1, 64),
        "usual": (rng.standard_normal(shape) * 3).astype(np.float32),
        "wide": (rng.standard_normal(shape) * np.exp2(rng.integers(-30, 30, shape))).astype(np.float32),
        "ties": (rng.integers(-600, 600, shape) / 8).astype(np.float32),
        "ties of few bits": (rng.integers(-40, 40, shape) / 16).astype(np.float32),
        "beside ties": np.nextafter((rng.integers(-600, 600, shape) / 8).astype(np.float32), np.float32(0)),
        "all equal": np.repeat(rng.standard_normal((48, 1)).astype(np.float32), 64, axis=1),
        "one huge": one_huge,
        "zeros": np.where(rng.random(shape) < 0.8, signs * np.float32(0), broken),
        "negative zeros": np.full(shape, -0.0, np.float32),
        "subnormal": tiny * signs,
        "nearly subnormal": (tiny + np.where(rng.random(shape) < 0.1, np.float32(2**-125), np.float32(0))) * signs,
        "largest": (rng.uniform(-2, 2, shape) * 2.0**127).clip(-3.4028234e38, 3.4028234e38).astype(np.float32),
        "not finite": broken,
        "bits": rng.integers(0, 2**32, shape, np.uint32).view(np.float32),
    }


def model_of(nodes: Sequence[Node], rank: int | None, opset: int, domain: str) -> onnx.ModelProto:
    """One input x of a rank, and for each node an output."""
    dims = None if rank is None else [f"d{index}" for index in range(rank)]
    outputs = [f"y{index}" for index in range(len(nodes))]
    graph = helper.make_graph(
        [
            helper.make_node(op_type, ["x"], [y], name=f"node of {y}", domain=domain, **attributes)
            for (op_type, attributes), y in zip(nodes, outputs, strict=True)
        ],
        "block ops",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, dims) for y in outputs],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def by_functions(model: onnx.ModelProto, level: int = 99) -> ort.InferenceSession:
    """A session of stock onnxruntime."""
    add_block_functions(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel(level)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def by_library(model: onnx.ModelProto, threads: int = 1) -> ort.InferenceSession:
    """A session with the compiled kernels."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if not custom_ops.register(options):
        pytest.skip("no compiled library here; cmake -S . -B build && cmake --build build makes one")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def by_numpy(node: Node, x: Floats) -> Floats:
    op_type, attributes = node
    return (block_floating_point if op_type.startswith("BFP") else microscaling)(x, **attributes)  # type: ignore[arg-type]


def assert_same(got: Any, want: Any, what: object) -> None:
    """Equal shapes and bits; two NaN are equal here."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, what
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    if not same.all():
        index = tuple(np.argwhere(~same)[0])
        pytest.fail(f"{what} at {index}: {got[index]!r}, not {want[index]!r}; {np.count_nonzero(~same)} differ")


VAI, QUARK = "com.vai.quantize", "com.amd.quark"
IN_QUARK = {"BFPFixNeuron": "BFPQuantizeDequantize", "MXFixNeuron": "MXQuantizeDequantize"}
NODES = attribute_sets()
SHAPES = [(), (1,), (1, 1), (7,), (64,), (0,), (3, 0, 2), (0, 5), (5, 37), (2, 33, 3), (3, 4, 5, 6), (1, 1, 50, 1)]
AXES = [(shape, axis) for shape in SHAPES for axis in range(-len(shape), len(shape))] + [((), 1), ((7,), 5), ((9,), -3)]


def named(op_type: str) -> list[Node]:
    return [node for node in NODES if node[0] == op_type]


def with_axis(node: Node, axis: int) -> Node:
    return node[0], {**node[1], "axis": axis}


@pytest.fixture(scope="module")
def wanted() -> list[tuple[str, Floats, list[Floats]]]:
    """Hard inputs and what numpy makes of them, for every node."""
    return [(name, x, [by_numpy(node, x) for node in NODES]) for name, x in hard_inputs().items()]


def test_library(wanted: list[tuple[str, Floats, list[Floats]]]) -> None:
    session = by_library(model_of(NODES, None, 17, VAI))
    for name, x, expected in wanted:
        for node, got, want in zip(NODES, session.run(None, {"x": x}), expected, strict=True):
            assert_same(got, want, (name, node))


def test_library_across_rows(wanted: list[tuple[str, Floats, list[Floats]]]) -> None:
    """A block whose elements do not lie side by side is computed another way."""
    session = by_library(model_of([with_axis(node, 0) for node in NODES], None, 17, VAI))
    for name, x, expected in wanted:
        for node, got, want in zip(NODES, session.run(None, {"x": x.T.copy()}), expected, strict=True):
            assert_same(got.T.copy(), want, (name, node))


@pytest.mark.parametrize("op_type", IN_QUARK)
@pytest.mark.parametrize("level", [0, 99])
def test_functions_for_nodes_that_differ(
    op_type: str, level: int, wanted: list[tuple[str, Floats, list[Floats]]]
) -> None:
    """One function serves them all, so it reads methods, element types and roundings from the node."""
    session = by_functions(model_of(named(op_type), 2, 17, VAI), level)
    places = [index for index, node in enumerate(NODES) if node[0] == op_type]
    for name, x, expected in wanted:
        if name == "all bfloat16" and level == 0:
            continue
        for place, got in zip(places, session.run(None, {"x": x}), strict=True):
            assert_same(got, expected[place], (name, NODES[place]))


@pytest.mark.parametrize("opset", [14, 17, 18, 21])
def test_function_of_one_kind(opset: int, wanted: list[tuple[str, Floats, list[Floats]]]) -> None:
    """A function of nodes that agree is shorter."""
    for node, place in [(node, index) for index, node in enumerate(NODES)][opset % 4 :: 4]:
        session = by_functions(model_of([node], 2, opset, VAI))
        for name, x, expected in wanted:
            if not name.startswith("all bfloat16") or opset == 17:
                assert_same(session.run(None, {"x": x})[0], expected[place], (name, node))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [pytest.param(*case, marks=pytest.mark.slow if at % 3 else ()) for at, case in enumerate(AXES)],
    ids=str,
)
def test_any_shape_and_axis(shape: tuple[int, ...], axis: int) -> None:
    rng = np.random.default_rng(len(shape) * 10 + axis)
    x = np.asarray(np.asarray(rng.standard_normal(shape)) * 3, np.float32)
    for op_type, other in IN_QUARK.items():
        nodes = [with_axis(node, axis) for node in named(op_type)[::5]]
        expected = [by_numpy(node, x) for node in nodes]
        renamed = [(other, attributes) for _, attributes in nodes]
        for session in (
            by_library(model_of(nodes, len(shape), 17, VAI)),
            by_library(model_of(renamed, len(shape), 17, QUARK)),
            by_functions(model_of(renamed, len(shape), 17, QUARK)),
        ):
            for node, got, want in zip(nodes, session.run(None, {"x": x}), expected, strict=True):
                assert_same(got, want, node)


@pytest.mark.parametrize("opset", [14, 15, 17, 18, 19, 21, 23])
def test_onnx_checks_models_with_functions(opset: int) -> None:
    model = model_of(NODES, 3, opset, VAI)
    add_block_functions(model)
    before = model.SerializeToString()
    add_block_functions(model)
    assert model.SerializeToString() == before
    onnx.checker.check_model(model, full_check=True)
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    assert len(inferred.functions) == 2


@pytest.mark.parametrize("name", sorted(BLOCK_TYPES))
def test_functions_run_in_the_reference_evaluator(name: str) -> None:
    declared = BLOCK_TYPES[name]
    model = model_of([(declared.op_type(), declared.attributes(1))], 2, 21, VAI)
    add_block_functions(model)
    x = (np.random.default_rng(0).standard_normal((3, 40)) * 3).astype(np.float32)
    got = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(got[0], declared.quantize_dequantize(x, 1))


def test_eight_threads_on_one_session() -> None:
    nodes = [node for node in NODES if node[1].get("rounding_mode", 2) == 2]
    session = by_library(model_of(nodes, 3, 17, VAI), threads=2)
    inputs = np.random.default_rng(1).standard_normal((8, 3, 130, 500)).astype(np.float32)
    alone = [session.run(None, {"x": x}) for x in inputs]
    for node, got in zip(nodes, alone[0], strict=True):
        assert_same(got, by_numpy(node, inputs[0]), node)

    def work(index: int) -> bool:
        return all(
            np.array_equal(got, want)
            for _ in range(5)
            for got, want in zip(session.run(None, {"x": inputs[index]}), alone[index], strict=True)
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
