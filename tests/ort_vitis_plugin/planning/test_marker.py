"""Marks say which tensors of which nodes, as onnxruntime's handlers name them, and nothing of parameters."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import Any

import numpy as np
import pluggy
import pytest
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Declaration, Format, Marker, PairWriter, hookimpl
from ort_vitis_plugin.plan import Int32Bias, Role
from ort_vitis_plugin.plan.marks import Marks, TensorMark
from ort_vitis_plugin.testing import graph

W = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 3, 3, 3)).astype(np.float32)
B = np.float32([0.5, -0.25, 1.0, -1.0])
FEEDS = [{"x": np.random.default_rng(1).uniform(-1, 2, (1, 3, 6, 6)).astype(np.float32)}]
TEXT = """
t (float[1,3,6,6] x) => (float[1,4,2,2] y) {
  [conv] h = Conv(x, w, b)
  [relu] r = Relu(h)
  [pool] p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
  [exp] y = Exp(p)
}
"""


def recording(seen: list[Marks]) -> object:
    """A plugin whose format's marker shows its marks."""

    class Recorder(Marker):
        @cached_property
        def marks(self) -> Marks:
            seen.append(super().marks)
            return seen[-1]

    class Plugin:
        @hookimpl
        def vitis_declare(self) -> Iterator[Declaration]:
            yield Format("Recorded", "Native pairs.", PairWriter, lambda kind: kind.is_integer, Recorder)

    return Plugin()


@pytest.fixture
def marks(plugins: pluggy.PluginManager) -> Any:
    def of(text: str = TEXT, **arguments: Any) -> Marks:
        seen: list[Marks] = []
        manager = plugins
        manager.register(recording(seen))
        given: dict[str, Any] = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
        given |= {"calibrate_method": CalibrationMethod.MinMax, "quant_format": "Recorded", "plugins": manager}
        options = {**arguments.get("extra_options", {}), "AvoidSaturation": False}  # else some CPUs answer twice
        given |= arguments | {"extra_options": options}
        quantize_static(graph(text, 17, {"w": W, "b": B}), None, FEEDS, **given)
        (found,) = seen
        return found

    return of


def test_nodes_that_stay_float_mark_nothing(marks: Any) -> None:
    found = marks(nodes_to_exclude=["conv", "relu", "pool"])
    assert (dict(found.tensors), dict(found.biases), dict(found.nodes)) == ({}, {}, {})


def test_tensors_have_parts_axes_and_providers(marks: Any) -> None:
    found = marks(per_channel=True)
    flows = TensorMark(Role.ACTIVATION)
    assert found.tensors == {
        "x": flows,
        "h": flows,
        "w": TensorMark(Role.WEIGHT, axis=0),
        "r": flows,
        "p": TensorMark(Role.ACTIVATION, provider="r"),
    }
    assert found.biases == {"b": Int32Bias("conv", "x", "w")}
    assert list(found.nodes) == ["conv", "relu", "pool"]
    assert [node.name for node in found.removable] == ["relu"]
    assert not found.dedicated_pairs


def test_marks_keep_what_the_caller_states_with_types_for_their_names(marks: Any) -> None:
    overrides = {"x": [{"quant_type": "QInt8", "symmetric": True}]}
    found = marks(extra_options={"TensorQuantOverrides": overrides, "DedicatedQDQPair": True})
    (stated,) = found.overrides["x"]
    assert (str(stated["quant_type"]), stated["symmetric"]) == ("QInt8", True)
    assert overrides == {"x": [{"quant_type": "QInt8", "symmetric": True}]}
    assert found.dedicated_pairs


def test_marks_do_not_change(marks: Any) -> None:
    found = marks()
    with pytest.raises(FrozenInstanceError):
        found.dedicated_pairs = True


def test_pairs_that_came_with_the_model_are_marked_no_further(marks: Any) -> None:
    text = """
    t (float[1,3,6,6] x) => (float[1,4,4,4] y) {
      s = Constant<value_float = 0.5>()
      z = Constant<value = int8 {0}>()
      [q] c = QuantizeLinear(x, s, z)
      [d] f = DequantizeLinear(c, s, z)
      [conv] y = Conv(f, w, b)
    }
    """
    assert list(marks(text, extra_options={"QuantizeQuantized": True}).nodes) == ["conv"]


def test_a_bias_of_two_nodes_is_one_bias_for_each(marks: Any) -> None:
    text = """
    t (float[1,3,6,6] x) => (float[1,4,4,4] y, float[1,4,6,6] z) {
      [one] y = Conv(x, w, b)
      [two] z = Conv<pads = [1, 1, 1, 1]>(x, w, b)
    }
    """
    found = marks(text)
    assert {mark.node for mark in found.biases.values()} == {"one", "two"}
    for name, mark in found.biases.items():
        assert found.nodes[mark.node].input[2] == name
        assert found.graph.array(name).tolist() == B.tolist()
