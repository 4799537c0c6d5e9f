"""What the network does not confirm on samples held out is undone, from the end on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from ort_vitis_finetune import finetune
from ort_vitis_finetune.network_guard import SplitJudge
from tests.plugins.ort_vitis_finetune.chain import chain, pictures, relative_error, rounded, session, with_result


def test_a_network_that_ends_in_softmax_is_judged_by_how_the_classes_differ_that_it_reads() -> None:
    def ended(share: float) -> ModelProto:
        """All classes have as much more."""
        model = chain()
        shared = numpy_helper.from_array(np.float32(share), "share")
        model.graph.initializer.append(shared)
        model.graph.node.append(helper.make_node("Add", ["y", "share"], ["logits"], "shared"))
        model.graph.node.append(helper.make_node("Softmax", ["logits"], ["z"], "softmax"))
        model.graph.output[0].name = "z"
        return model

    feeds = pictures(16)
    one, other = (
        SplitJudge(ended(0.0), rounded(ended(share)).model, feeds, session).before.errors for share in (0.0, 30.0)
    )
    np.testing.assert_allclose(one, other, rtol=1e-3)
    assert one.mean() > 0


def test_what_makes_the_network_worse_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    from ort_vitis_finetune.candidates import Choice, Constants

    def spoiled(problem: Any, *_: Any) -> Choice:
        codes = np.zeros_like(problem.now.codes)
        return Choice("damping 1", Constants(codes, problem.grid.values(codes), problem.now.bias), 0.0, 1.0)

    monkeypatch.setitem(finetune.__globals__, "choose", spoiled)
    reference = chain()
    result = finetune(reference, rounded(reference), pictures(8), session)
    assert result.after == result.before
    assert (result.codes, result.weights, result.biases) == ({}, {}, {})
    assert {layer.reason for layer in result.layers} == {"undone: the network became worse"}


def test_where_the_end_makes_it_worse_the_beginning_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from ort_vitis_finetune.candidates import Choice, Constants, choose

    def spoiled(problem: Any, *arguments: Any) -> Choice:
        if problem.layer.node.name != "gemm":
            return choose(problem, *arguments)
        codes = np.zeros_like(problem.now.codes)
        return Choice("damping 1", Constants(codes, problem.grid.values(codes), problem.now.bias), 0.0, 1.0)

    monkeypatch.setitem(finetune.__globals__, "choose", spoiled)
    reference = chain()
    simulation = rounded(reference)
    result = finetune(reference, simulation, pictures(16), session)
    assert result.after < result.before
    assert result.weights.keys() == {"w1", "w2", "w3", "w4"}
    held_out = relative_error(reference, with_result(simulation, result), pictures(32, 9))
    assert held_out < relative_error(reference, simulation.model, pictures(32, 9))
