"""A call answers for its names as they are now, and nothing of what happens changes its settings."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from onnx import NodeProto, helper

from ort_vitis_plugin.request.settings import Settings
from ort_vitis_plugin.testing import graph, plain_context


def node(name: str, op_type: str = "Conv") -> NodeProto:
    return helper.make_node(op_type, ["x"], ["y"], name)


def test_selections_follow_renames_and_the_request_stays() -> None:
    call = plain_context(nodes_to_exclude=("a",), nodes_to_quantize=("a", "b"))
    assert call.refusal(node("a")) == "in nodes_to_exclude"
    assert call.refusal(node("c")) == "not in nodes_to_quantize"
    call.ledger.renames.node("a", "c", "d")
    assert call.refusal(node("c")) == call.refusal(node("d")) == "in nodes_to_exclude"
    assert call.refusal(node("a")) == "not in nodes_to_quantize"
    assert call.is_requested(node("d"))
    assert call.request.nodes_to_quantize == ("c", "d", "b")
    assert call.settings.request.nodes_to_quantize == ("a", "b")


def test_options_that_name_something_follow_too() -> None:
    entry = {"convert": {"recv_nodes": {"a"}}}
    call = plain_context(
        InputNodes=["a"], OutputNodes=["t"], TensorQuantOverrides={"t": [entry], "u": [{"scale": np.float32(1)}]}
    )
    call.ledger.renames.node("a", "b")
    call.ledger.renames.tensor("t", "t", "t_1")
    assert call.options["InputNodes"] == ["b"]
    assert call.options["OutputNodes"] == ["t", "t_1"]
    assert call.overrides.keys() == {"t", "t_1", "u"}
    assert call.overrides["t_1"][0]["convert"]["recv_nodes"] == {"b"}
    assert call.kept_names() == {"b", "t", "t_1", "u"}
    assert set(call.names_in_use()) == {"t", "t_1", "u", "b"}
    assert entry == {"convert": {"recv_nodes": {"a"}}}
    assert call.settings.options["InputNodes"] == ["a"]


def test_overrides_of_a_body_take_the_place_of_the_requests() -> None:
    call = plain_context(TensorQuantOverrides={"t": [{}]})
    inside = call.with_overrides({"u": [{}]})
    assert inside.overrides.keys() == inside.options["TensorQuantOverrides"].keys() == {"u"}
    assert call.overrides.keys() == {"t"}
    assert inside.ledger is call.ledger


def test_what_a_step_may_write_down() -> None:
    call = plain_context(op_types=("Sigmoid",))
    assert call.refusal(node("n", "HardSigmoid")) == "op type not selected"
    call.stand_in("HardSigmoid")
    assert call.refusal(node("n", "HardSigmoid")) is None
    call.leave_float(node("n"), "far apart")
    assert call.refusal(node("n", "HardSigmoid")) == "far apart"
    assert call.refusal(node("n", "Mul"), any_type=True) == "far apart"
    assert call.refusal(node("m", "Mul"), any_type=True) is None
    call.note("once")
    call.note("once")
    assert call.report.notes == ["once"]
    assert call.op_types == {"Sigmoid", "HardSigmoid"}
    assert call.settings.op_types == {"Sigmoid"}


def test_a_session_of_a_call() -> None:
    model = graph("t (float[2] x) => (float[2] y) { y = Relu(x) }")
    session = plain_context().open_session(model)
    assert session.run(None, {"x": np.array([-1, 1], np.float32)})[0].tolist() == [0, 1]


def test_settings_are_frozen() -> None:
    settings = plain_context().settings
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.request = settings.request  # type: ignore[misc]
    assert {field.name for field in dataclasses.fields(Settings)}.isdisjoint({"report", "excluded", "samples"})
