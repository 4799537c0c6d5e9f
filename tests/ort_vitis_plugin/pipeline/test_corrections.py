"""A correction changes constants of the plan; one that breaks something is taken back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Context, Correction, Feed, Graph, Option, Plan, hookimpl
from ort_vitis_plugin.errors import PluginError
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.report.report import Result
from ort_vitis_plugin.testing import graph, random_feeds
from tests.models.serialized import without_provenance

Apply = Callable[[Plan, Graph, Iterable[Feed], Context], int]


def network() -> ModelProto:
    constants = {"w": np.eye(4, dtype=np.float32), "b": np.array([1, 2, 3, 4], np.float32)}
    return graph("t (float[2, 4] x) => (float[2, 4] y) { [g] y = Gemm(x, w, b) }", 17, constants)


def corrected(apply: Apply, reader: Any = None, **options: object) -> Result:
    correction = Correction("Mine", "Mine.", Option("Mine", bool, True, "Mine."), apply)

    class Plugin:
        @hookimpl
        def vitis_declare(self) -> list[Correction]:
            return [correction]

    manager = new_manager(entry_points=False)
    manager.register(Plugin(), "mine")
    samples = [random_feeds(network(), seed) for seed in range(3)] if reader is None else reader
    return quantize_static(network(), None, samples, plugins=manager, extra_options=options)


def plain() -> bytes:
    samples = [random_feeds(network(), seed) for seed in range(3)]
    return without_provenance(quantize_static(network(), None, samples).model)


def set_bias(values: Any) -> Apply:
    def apply(plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
        plan.graph.put_initializer(numpy_helper.from_array(np.asarray(values), "b"))
        return 1

    return apply


def test_what_it_changes_is_written_and_counted() -> None:
    result = corrected(set_bias(np.zeros(4, np.float32)))
    codes = {tensor.name: numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer}
    assert not codes["b_quantized"].any()
    assert result.report.transforms["Mine"] == 1


def test_its_switch_turns_it_off() -> None:
    result = corrected(set_bias(np.zeros(4, np.float32)), Mine=False)
    assert without_provenance(result.model) == plain()
    assert "Mine" not in result.report.transforms


BROKEN: dict[str, Any] = {
    "not finite": np.array([1, np.nan, 3, 4], np.float32),
    "another shape": np.zeros((1, 4), np.float32),
    "another type": np.zeros(4, np.float64),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_breaks_the_model_is_taken_back(case: str) -> None:
    result = corrected(set_bias(BROKEN[case]))
    assert without_provenance(result.model) == plain()
    assert any("Mine was taken back" in note for note in result.report.notes)
    assert result.report.transforms["Mine"] == 0


def test_an_error_goes_on_to_the_caller() -> None:
    def apply(plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
        raise ValueError("mine")

    with pytest.raises(PluginError, match="Correction Mine raised ValueError: mine") as caught:
        corrected(apply)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("kind", ["a list", "read once"])
def test_samples_come_anew_at_each_pass(kind: str) -> None:
    feeds = [random_feeds(network(), seed) for seed in range(3)]
    passes: list[list[Any]] = []

    def apply(plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
        passes.extend([feed["x"] for feed in samples] for _ in range(2))
        return 0

    corrected(apply, feeds if kind == "a list" else iter(feeds))
    for seen in passes:
        np.testing.assert_array_equal(seen, [feed["x"] for feed in feeds])


def test_the_float_graph_is_the_prepared_one_and_no_part_of_the_plan() -> None:
    def apply(plan: Plan, float_graph: Graph, samples: Iterable[Feed], context: Context) -> int:
        assert float_graph is not plan.graph
        assert [node.op_type for node in float_graph] == ["Gemm"]
        feeds = list(samples)
        outputs = context.open_session(float_graph.to_model()).run(None, feeds[0])[0]
        np.testing.assert_allclose(outputs, feeds[0]["x"] + np.array([1, 2, 3, 4]), rtol=1e-6)
        float_graph.put_initializer(numpy_helper.from_array(np.zeros(4, np.float32), "b"))
        return 0

    assert without_provenance(corrected(apply).model) == plain()
