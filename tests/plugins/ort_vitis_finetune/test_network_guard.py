"""What the network does not confirm on samples held out is undone, from the end on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from ort_vitis_finetune import finetune
from tests.plugins.ort_vitis_finetune.chain import chain, pictures, relative_error, rounded, session, with_result


def test_a_network_that_ends_in_softmax_is_judged_by_what_that_reads() -> None:
    reference = chain()
    reference.graph.node.append(helper.make_node("Softmax", ["y"], ["z"], "softmax"))
    reference.graph.output[0].name = "z"
    plain, ended = (finetune(each, rounded(each), pictures(16), session) for each in (chain(), reference))
    assert (ended.before, ended.after) == (plain.before, plain.after)


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
