"""The nodes give the sum of squares of each channel, in every opset and for every rank."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin.calibration.channel_squares import Channels
from ort_vitis_plugin.calibration.observe.channel_energy import EnergyWriter
from ort_vitis_plugin.testing import run_model

if TYPE_CHECKING:
    from collections.abc import Sequence

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def model(opset: int, element_type: int = TensorProto.FLOAT, shape: Sequence[int | str] = X.shape) -> ModelProto:
    ends = [helper.make_tensor_value_info(name, element_type, shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize("half", [False, True], ids=["float", "half"])
@pytest.mark.parametrize(
    ("channels", "axes"),
    [(Channels("x", 1, 3, 3), (0, 2)), (Channels("x", 2, 4, 3), (0, 1)), (Channels("x", -1, 4), (0, 1))],
    ids=["the second axis", "the last axis", "any rank"],
)
def test_sums_are_those_of_numpy(opset: int, half: bool, channels: Channels, axes: tuple[int, ...]) -> None:
    x = X.astype(np.float16) if half else X
    observed = model(opset, TensorProto.FLOAT16 if half else TensorProto.FLOAT)
    energy = EnergyWriter(observed).add(channels)
    found: dict[str, Any] = run_model(observed, {"x": x})
    np.testing.assert_allclose(found[energy.sums], (x.astype(np.float64) ** 2).sum(axes), rtol=1e-5)
    assert found[energy.sums].dtype == np.float32
    assert energy.size == X.size
    assert energy.outputs == [energy.sums]


def test_where_the_model_leaves_the_size_open_a_node_tells_it() -> None:
    observed = model(17, shape=["N", 3, 4])
    energy = EnergyWriter(observed).add(Channels("x", 1, 3, 3))
    found: dict[str, Any] = run_model(observed, {"x": X})
    assert [found[name].shape for name in energy.outputs] == [(3,), ()]
    assert found[energy.outputs[1]] == X.size


def test_a_tensor_that_nothing_describes_may_be_of_any_type() -> None:
    observed = model(17)
    del observed.graph.node[:]
    observed.graph.node.append(helper.make_node("Relu", ["x"], ["inner"]))
    observed.graph.node.append(helper.make_node("Relu", ["inner"], ["y"]))
    writer = EnergyWriter(observed)
    assert writer.add(Channels("inner", 1, 3, 3)).size == "energy_of_channels/0/size"
    assert [node.op_type for node in observed.graph.node[2:]] == ["Cast", "ReduceSumSquare", "Size"]


@pytest.mark.parametrize("opset", [17, 18])
def test_each_tensor_has_names_of_its_own(opset: int) -> None:
    observed = model(opset)
    writer = EnergyWriter(observed)
    energies = [writer.add(Channels(name, 1, 3, 3)) for name in ("x", "y")]
    assert len({name for each in energies for name in each.outputs}) == 2
    assert len(observed.graph.initializer) == (opset >= 18)  # equal axes are one constant
    run_model(observed, {"x": X})
