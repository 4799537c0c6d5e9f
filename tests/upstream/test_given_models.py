"""Bodies, odd graphs and files that users of onnxruntime hand to a call give what its own code gives."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

import ort_vitis_plugin as vitis
from tests.kinds.checks import Arguments, assert_close, model, nodes, samples, weights
from tests.models.networks import FeedReader

from .both import PLAINLY, compared, decibels, ours, theirs
from .situations import branches, network
from .test_operators import FAITHFUL, U8S8, U8U8

pytestmark = pytest.mark.filterwarnings("ignore")

# ---------------------------------------------------------------------- graphs as they come


@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("arguments", [U8S8, {"activation_type": QuantType.QUInt16}], ids=["u8s8", "u16s8"])
def test_bodies(subgraphs: bool, arguments: Arguments) -> None:
    feeds = [{**feed, "c": np.array(at % 2 == 0)} for at, feed in enumerate(samples(branches(), 4))]
    right = ours(branches(), feeds, **arguments, extra_options={"EnableSubgraph": subgraphs})
    assert decibels(branches(), right, feeds) > FAITHFUL - 5
    (split,) = nodes(right, "If")
    found = {node.op_type for entry in split.attribute for node in entry.g.node}
    assert ("DequantizeLinear" in found) is subgraphs


@pytest.mark.parametrize("form", [QuantFormat.QDQ, QuantFormat.QOperator])
@pytest.mark.parametrize("method", CalibrationMethod.__members__)
def test_methods_beside_bodies(method: str, form: QuantFormat) -> None:
    """Three of the four end in an error there, and so do quantized operators inside of bodies."""
    feeds = [{**feed, "c": np.array(at % 2 == 0)} for at, feed in enumerate(samples(branches(), 4))]
    for subgraphs in (False, True):
        given = {**U8S8, "quant_format": form, "calibrate_method": CalibrationMethod[method]}
        right = ours(branches(), feeds, **given, extra_options={"EnableSubgraph": subgraphs})
        assert decibels(branches(), right, feeds) > FAITHFUL - 5


@pytest.mark.parametrize("attributes", ["", ", value = 10.0", ', mode = "edge"', ', mode = "reflect"'])
def test_pads_whose_value_is_an_attribute(attributes: str) -> None:
    """Opsets below 11; the value becomes an input, and codes."""
    proto = model(f"t (float[3, 4] x) => (float[3, 6] y) {{ y = Pad<pads = [0, 1, 0, 1]{attributes}>(x) }}", {}, 10)
    found = compared(proto, theirs(proto, **U8U8), ours(proto, **U8U8))
    assert found.parameters == []
    assert found.is_as_near, found.decibels


def shuffled() -> ModelProto:
    proto = network()
    backwards = list(reversed(proto.graph.node))
    del proto.graph.node[:]
    proto.graph.node.extend(backwards)
    return proto


def unnamed() -> ModelProto:
    proto = network()
    for node in proto.graph.node:
        node.name = ""
    return proto


def foreign() -> ModelProto:
    """What shape inference does not know stands in the middle."""
    return model(
        "t (float[4, 8] x) => (float[4, 8] y) { h = MatMul(x, m) g = com.microsoft.Gelu(h) y = MatMul(g, m) }",
        {"m": weights(1, 8, 8)},
    )


def unstated() -> ModelProto:
    proto = network()
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    return proto


def constants_as_nodes() -> ModelProto:
    proto = network()
    for tensor in reversed(proto.graph.initializer):
        proto.graph.node.insert(0, helper.make_node("Constant", [], [tensor.name], value=tensor))
    del proto.graph.initializer[:]
    return proto


GRAPHS = [shuffled, unnamed, foreign, unstated, constants_as_nodes]


@pytest.mark.parametrize("build", GRAPHS)
def test_graphs_as_they_come(build: Callable[[], ModelProto]) -> None:
    proto = build()
    sorted_ = network() if build is shuffled else proto
    feeds = samples(sorted_, free=1)
    assert decibels(sorted_, ours(proto, feeds, **U8S8), feeds) > FAITHFUL


def test_a_tensor_without_values() -> None:
    proto = model(
        "t (float[n, 8] x) => (float[m, 8] y) { e = MatMul(x, m) y = Concat<axis = 0>(e, e) }", {"m": weights(1, 8, 8)}
    )
    feeds = [{"x": np.zeros((0, 8), np.float32)}, {"x": weights(2, 3, 8)}]
    assert decibels(proto, ours(proto, feeds, **U8S8), feeds) > FAITHFUL


# ---------------------------------------------------------------------- files


@pytest.mark.parametrize("by", ["path", "ModelProto"])
@pytest.mark.parametrize("external", [False, True])
def test_weights_in_a_file_of_their_own(by: str, external: bool, tmp_path: Path) -> None:
    proto, path = network(), tmp_path / "float.onnx"
    onnx.save_model(network(), path, save_as_external_data=True, location="float.data", size_threshold=0)
    given: Any = path if by == "path" else onnx.load(path)
    vitis.quantize_static(
        given, tmp_path / "q.onnx", FeedReader(samples(proto)), **U8S8,
        calibrate_method=CalibrationMethod.MinMax, use_external_data_format=external, extra_options=PLAINLY,
    )  # fmt: skip
    assert_close(proto, str(tmp_path / "q.onnx"), FAITHFUL)


def test_a_model_that_was_never_saved_stays_as_it_is() -> None:
    proto = network()
    before = proto.SerializeToString()
    ours(proto, **U8S8)
    assert proto.SerializeToString() == before
