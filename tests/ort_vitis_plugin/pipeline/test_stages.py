"""Observers see what each stage made: whole models, and only where they look."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantFormat

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, custom_ops, quantize_static
from ort_vitis_plugin.api import Graph, Request, hookimpl
from ort_vitis_plugin.onnx_io import external_weights
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import graph, random_feeds, run_model


def network() -> ModelProto:
    """Its weights are large enough to lie beside the messages of the pipeline."""
    weights = np.random.default_rng(1).standard_normal((256, 256)).astype(np.float32)
    assert weights.nbytes > external_weights.LARGE
    return graph("t (float[2, 256] x) => (float[2, 256] y) { [m] y = MatMul(x, w) }", 17, {"w": weights})


class Observer:
    """Keeps every model that a stage hands over."""

    def __init__(self) -> None:
        self.models: dict[str, ModelProto] = {}

    @hookimpl
    def vitis_stage_done(self, stage: str, context: Any, value: Any) -> None:
        assert context.report is not None
        if isinstance(value, (Graph, ModelProto)):
            found = ModelProto()
            found.CopyFrom(value.to_model() if isinstance(value, Graph) else value)
            self.models[stage] = found


def test_every_stage_hands_whole_models_over(tmp_path: Path) -> None:
    model, observer, manager = network(), Observer(), new_manager(entry_points=False)
    manager.register(observer)
    feeds = random_feeds(model)
    quantize_static(model, None, [feeds], plugins=manager)
    assert {"load", "normalize", "prepare", "simulate", "emit", "finish", "check"} <= observer.models.keys()
    for stage, found in observer.models.items():
        path = tmp_path / f"{stage}.onnx"
        onnx.save(found, path)
        outputs = run_model(onnx.load(path), feeds)
        assert outputs["y"].shape == (2, 256), stage
    np.testing.assert_array_equal(run_model(observer.models["load"], feeds)["y"], run_model(model, feeds)["y"])


def test_nobody_pays_who_does_not_look(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ModelProto] = []
    plain = external_weights.internalized
    monkeypatch.setattr(external_weights, "internalized", lambda model: made.append(model) or plain(model))

    class Stages:
        @hookimpl
        def vitis_stage_done(self, stage: str) -> None:
            seen.append(stage)

    seen: list[str] = []
    counts: list[int] = []
    for observers in ([], [Stages()], [Observer()]):
        manager = new_manager(entry_points=False)
        for observer in observers:
            manager.register(observer)
        made.clear()
        quantize_static(network(), None, [random_feeds(network())], plugins=manager)
        counts.append(len(made))
    assert "load" in seen
    assert counts[0] == counts[1] < counts[2]


def test_an_observer_of_the_release_before_is_told_what_to_write() -> None:
    class Old:
        @hookimpl
        def vitis_stage_done(self, stage: str, run: Any) -> None:
            reports.append(run.report)

    reports: list[Any] = []
    manager = new_manager(entry_points=False)
    with pytest.warns(DeprecationWarning, match="takes context in the place of run"):
        manager.register(Old())
    quantize_static(network(), None, [random_feeds(network())], plugins=manager)
    assert len({id(report) for report in reports}) == 1


def test_a_call_is_configured_once_though_it_is_answered_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second answer spares a bit of the weights; what a plugin configured holds for it too."""
    from ort_vitis_plugin.pipeline import pipeline

    configured: list[Request] = []

    class Configures:
        @hookimpl
        def vitis_configure(self, request: Request) -> Request:
            configured.append(request)
            return request.with_options(ActivationSymmetric=True)

    answers: list[Any] = []
    once = pipeline.quantize_once

    def watched(call: Any, *arguments: Any) -> Any:
        answers.append(call)
        return once(call, *arguments)

    monkeypatch.setattr(pipeline, "quantize_once", watched)
    monkeypatch.setattr(pipeline, "may_spare_a_bit", lambda call: True)
    monkeypatch.setattr(pipeline, "is_worth_it", lambda eight, seven: True)
    monkeypatch.setattr(pipeline, "note_spared", lambda report, eight, measured: None)
    manager = new_manager(entry_points=False)
    manager.register(Configures())
    model = network()
    quantize_static(model, None, [random_feeds(model)], plugins=manager)
    assert len(configured) == 1
    assert [call.request.reduce_range for call in answers] == [False, True]
    assert [call.options["ActivationSymmetric"] for call in answers] == [True, True]
    assert answers[0].ledger is not answers[1].ledger
    assert answers[0].samples is answers[1].samples


@pytest.mark.parametrize(("quant_format", "registered"), [(QuantFormat.QDQ, False), (VitisQuantFormat.FixNeuron, True)])
def test_sessions_that_check_get_our_operators_where_they_may_be(
    quant_format: object, registered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    monkeypatch.setattr(custom_ops, "register", given.append)
    model = network()
    quantize_static(
        model, None, [random_feeds(model)], quant_format=quant_format, calibrate_method=PowerOfTwoMethod.MinMSE
    )
    assert bool(given) is registered
