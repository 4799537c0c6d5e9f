"""Models that disagree with themselves are refused when they are read, and nothing is allocated by what they state."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from ort_vitis_plugin import errors, quantize_static
from ort_vitis_plugin.onnx_io.load import load_model
from ort_vitis_plugin.testing import graph

TEXT = "t (float[1, 4] x) => (float[1, 4] y) { y = MatMul(x, w) }"


def model() -> onnx.ModelProto:
    return graph(TEXT, constants={"w": np.ones((4, 4), np.float32)})


def external(*entries: tuple[str, str]) -> Callable[[TensorProto], None]:
    def change(tensor: TensorProto) -> None:
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries:
            tensor.external_data.add(key=key, value=value)

    return change


def dims(*sizes: int) -> Callable[[TensorProto], None]:
    return lambda tensor: tensor.dims.__setitem__(slice(None), sizes)


def typed(count: int) -> Callable[[TensorProto], None]:
    """Values in their own field instead of bytes."""

    def change(tensor: TensorProto) -> None:
        tensor.ClearField("raw_data")
        tensor.float_data.extend([1.0] * count)

    return change


BROKEN: dict[str, tuple[Callable[[TensorProto], Any], str]] = {
    "larger dims": (dims(4, 5), "which are 80 bytes of float32, but holds 64"),
    "smaller dims": (dims(4, 3), "but holds 64"),
    "huge dims": (dims(2**40, 2**40), "but holds 64"),
    "negative dims": (dims(-4, -4), "none can be negative"),
    "unknown type": (lambda tensor: setattr(tensor, "data_type", 77), "is of the type 77"),
    "no type": (lambda tensor: setattr(tensor, "data_type", 0), "is of the type 0"),
    "external without entries": (external(), "in a file that it does not name"),
    "external with an offset alone": (external(("offset", "0")), "does not name"),
    "fewer values than dims": (typed(3), r"does not hold what its dims \[4, 4\] say"),
    "our marker": (external(("location", "beside"), ("offset", "0")), "'beside', which was not read"),
    "another file": (external(("location", "w.bin")), "which was not read"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_tensors(case: str, tmp_path: Path) -> None:
    broken = model()
    change, text = BROKEN[case]
    change(broken.graph.initializer[0])
    with pytest.raises(errors.ModelError, match=text):
        quantize_static(broken, None, [])
    (tmp_path / "m.onnx").write_bytes(broken.SerializeToString())
    with pytest.raises(errors.ModelError):
        load_model(tmp_path / "m.onnx")


@pytest.mark.parametrize("kind", [29, 77, -1])
def test_an_input_of_a_type_that_nobody_knows(kind: int) -> None:
    broken = model()
    broken.graph.input[0].type.tensor_type.elem_type = kind
    with pytest.raises(errors.ModelError, match=f"the input 'x' is of the type {kind}, which this onnx does not know"):
        load_model(broken)
    for known in TensorProto.DataType.values():
        broken.graph.input[0].type.tensor_type.elem_type = known
        load_model(broken)


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "BFLOAT16", "FLOAT8E4M3FN", "STRING", "BOOL", "COMPLEX64", "DOUBLE"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 2)])
def test_tensors_of_any_type_pass(kind: str, shape: tuple[int, ...]) -> None:
    number = getattr(TensorProto, kind)
    values: list[Any] = [b"a" if kind == "STRING" else 1] * int(np.prod(shape))
    whole = model()
    whole.graph.initializer.append(helper.make_tensor("unused", number, shape, values))
    load_model(whole)
    if kind in ("INT4", "BFLOAT16", "DOUBLE"):
        tensor = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(whole.graph.initializer[1]), "raw")
        whole.graph.initializer.append(tensor)
        load_model(whole)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    data = model().SerializeToString().replace(b"MatMul", b"Mat\xff\xfel")
    (tmp_path / "m.onnx").write_bytes(data)
    with pytest.raises(errors.ModelError):
        load_model(tmp_path / "m.onnx")


def nested(depth: int, *, calls_itself: bool = False) -> onnx.ModelProto:
    """Functions that call the next one twice."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)]
    functions = []
    for number in range(depth):
        inner, domain = (f"f{number + 1}", "d") if number < depth - 1 else ("f0", "d") if calls_itself else ("Relu", "")
        nodes = [helper.make_node(inner, [a], [b], domain=domain) for a, b in (("a", "t"), ("t", "b"))]
        functions.append(helper.make_function("d", f"f{number}", ["a"], ["b"], nodes, opsets))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
    body = helper.make_graph([helper.make_node("f0", ["x"], ["y"], domain="d")], "g", ends[:1], ends[1:])
    return helper.make_model(body, functions=functions, opset_imports=opsets, ir_version=8)


def test_functions_that_grow_without_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(errors.LimitError, match=r"expand to 3\.36e\+07 nodes, more than 1000000"):
        quantize_static(nested(25), None, [])
    with pytest.raises(errors.ModelError, match="calls itself"):
        quantize_static(nested(3, calls_itself=True), None, [])
    load_model(nested(3))
    monkeypatch.setenv("ORT_VITIS_MAX_NODES", "4")
    with pytest.raises(errors.LimitError, match="more than 4"):
        load_model(nested(3))
    monkeypatch.setenv("ORT_VITIS_MAX_NODES", "many")
    with pytest.raises(errors.LimitError, match="'many' is no whole number"):
        load_model(nested(3))


def test_nodes_of_bodies_in_functions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """An If in each function calls the next one in both branches."""
    branched = nested(3)
    for function in branched.functions:
        calls = [onnx.NodeProto.FromString(node.SerializeToString()) for node in function.node]
        del function.node[:]
        output = helper.make_tensor_value_info(function.output[0], TensorProto.FLOAT, None)
        body = helper.make_graph(calls, "body", [], [output])
        function.node.append(helper.make_node("Cast", ["a"], ["c"], to=TensorProto.BOOL))
        function.node.append(helper.make_node("If", ["c"], list(function.output), then_branch=body, else_branch=body))
    monkeypatch.setenv("ORT_VITIS_MAX_NODES", "80")
    with pytest.raises(errors.LimitError, match="more than 80"):
        load_model(branched)
    monkeypatch.setenv("ORT_VITIS_MAX_NODES", "1000")
    load_model(branched)


def test_names_of_inputs_that_are_no_tensors_are_looked_at_too() -> None:
    whole = model()
    whole.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    load_model(whole)
    raw = whole.SerializeToString().replace(b"\n\x01s", b"\n\x01\xff")
    with pytest.raises(errors.QuantizationError):
        load_model(onnx.ModelProto.FromString(raw))


@pytest.mark.parametrize("text", ["producer", "domain", "about the model", "about the graph", "graph", "key", "value"])
def test_what_a_model_says_of_itself_is_text(text: str, tmp_path: Path) -> None:
    told = model()
    told.producer_name, told.domain, told.doc_string = "producer", "domain", "about the model"
    told.graph.name, told.graph.doc_string = "graph", "about the graph"
    told.metadata_props.add(key="key", value="value")
    raw = told.SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(raw)
    load_model(path)
    size = len(text).to_bytes(1, "little")
    assert raw.count(size + text.encode()) == 1
    path.write_bytes(raw.replace(size + text.encode(), size + b"\xda" + text.encode()[1:]))
    with pytest.raises(errors.ModelError, match=r"the model's \w+ is b'\\xda.*, which is not UTF-8 text"):
        load_model(path)
