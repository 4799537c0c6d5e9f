"""What the checker demands beyond what onnxruntime needs is not demanded of the caller."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantFormat

from ort_vitis_plugin import VitisQuantFormat, quantize_static
from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.graph import subgraphs
from ort_vitis_plugin.pipeline.canonical_form import canonical_form
from ort_vitis_plugin.testing import graph

W = np.random.default_rng(0).uniform(-1, 1, (4, 2)).astype(np.float32)
SAMPLES = [{"x": np.random.default_rng(1).uniform(-1, 1, (1, 4)).astype(np.float32)}]


def model() -> ModelProto:
    return graph("t (float[1,4] x) => (float[1,2] y) { h = MatMul(x, w)\n y = Relu(h) }", 17, {"w": W})


def test_outputs_need_no_shape() -> None:
    source = model()
    source.graph.output[0].type.tensor_type.ClearField("shape")
    before = source.SerializeToString(deterministic=True)
    assert canonical_form(source).SerializeToString(deterministic=True) == before
    assert quantize_static(source, None, SAMPLES).report.quantized


def test_nodes_in_any_order_are_sorted() -> None:
    source = model()
    source.graph.node.insert(0, source.graph.node.pop())
    assert [node.op_type for node in canonical_form(source).graph.node] == ["MatMul", "Relu"]


def test_what_no_order_repairs_is_refused() -> None:
    source = model()
    source.graph.node[0].input[0] = "nothing"
    with pytest.raises(ModelError, match="nothing"):
        canonical_form(source)


def sparse(pairs: bool) -> onnx.SparseTensorProto:
    """W with two zeros, by linear or by paired indices."""
    places = np.array([1, 2, 3, 4, 5, 7])
    values = numpy_helper.from_array(W.reshape(-1)[places], "w")
    listed = np.stack(np.unravel_index(places, W.shape), axis=1) if pairs else places
    return helper.make_sparse_tensor(values, numpy_helper.from_array(listed, "places"), W.shape)


def as_initializer(source: ModelProto) -> None:
    source.graph.sparse_initializer.append(sparse(False))


def as_paired_initializer(source: ModelProto) -> None:
    source.graph.sparse_initializer.append(sparse(True))


def as_constant(source: ModelProto) -> None:
    source.graph.node.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=sparse(False)))


def in_a_branch(source: ModelProto) -> None:
    product = source.graph.node.pop(0)
    product.output[0] = "inside"
    end = helper.make_empty_tensor_value_info("inside")
    body = helper.make_graph([product], "body", [], [end])
    body.node.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=sparse(False)))
    other = helper.make_graph([product], "other", [], [end])
    other.sparse_initializer.append(sparse(False))
    source.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
    source.graph.node.insert(0, helper.make_node("If", ["c"], ["h"], then_branch=body, else_branch=other))


def all_graphs(body: GraphProto) -> list[GraphProto]:
    return [body, *(each for node in body.node for inner in subgraphs(node) for each in all_graphs(inner))]


@pytest.mark.parametrize("place", [as_initializer, as_paired_initializer, as_constant, in_a_branch])
def test_sparse_constants_are_dense(place: Callable[[ModelProto], None]) -> None:
    dense = model()
    values = W.copy()
    values.reshape(-1)[[0, 6]] = 0
    dense.graph.initializer[0].CopyFrom(numpy_helper.from_array(values, "w"))
    source = model()
    del source.graph.initializer[:]
    place(source)
    expected = quantize_static(dense, None, SAMPLES).model
    found = quantize_static(source, None, SAMPLES).model
    constants = [sorted(str(numpy_helper.to_array(t)) for t in m.graph.initializer) for m in (expected, found)]
    assert constants[0] == constants[1]
    for each in all_graphs(canonical_form(source).graph):
        assert not each.sparse_initializer
        assert not any(entry.name == "sparse_value" for node in each.node for entry in node.attribute)


@pytest.mark.parametrize("imports", [["ai.onnx"], [""], ["", "ai.onnx"]])
@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_the_default_domain_has_two_spellings(imports: list[str], domain: str) -> None:
    source = model()
    del source.opset_import[:]
    source.opset_import.extend(helper.make_opsetid(name, 17) for name in imports)
    for node in source.graph.node:
        node.domain = domain
    before = source.SerializeToString(deterministic=True)
    result = quantize_static(source, None, SAMPLES)
    assert source.SerializeToString(deterministic=True) == before
    assert set(result.report.quantized.values()) == {"MatMul", "Relu"}
    assert {entry.domain for entry in result.model.opset_import} <= {"", "com.microsoft"}


def test_a_graph_needs_no_name() -> None:
    source = model()
    source.graph.name = ""
    assert quantize_static(source, None, SAMPLES).report.quantized


@pytest.mark.parametrize("quant_format", [QuantFormat.QDQ, VitisQuantFormat.QDQ])
def test_outputs_that_inference_cannot_reach_need_no_shape(quant_format: object) -> None:
    """onnx knows nothing of com.microsoft's operators."""
    source = graph(
        """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        t (float[1,4] x) => (float[1,2] y) { h = MatMul(x, w) y = com.microsoft.QuickGelu(h) }""",
        constants={"w": W},
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    result = quantize_static(source, None, SAMPLES, quant_format=quant_format)
    assert "MatMul" in result.report.quantized.values()


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("optimized", [True, False])
def test_constants_of_ir_3_become_unlisted(listed: bool, optimized: bool) -> None:
    source = graph("t (float[1,4] x) => (float[1,2] y) { h = MatMul(x, w)\n y = Relu(h) }", 11, {"w": W})
    if listed:
        source.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, W.shape))
    source.ir_version = 3
    result = quantize_static(source, None, SAMPLES, optimize_model=optimized)
    assert result.model.ir_version >= 4
    assert [value.name for value in result.model.graph.input] == ["x"]
    assert "MatMul" in result.report.quantized.values()
