"""Samples held out decide on the equalization of a preset, or of IncludeCLE="auto"; the caller's word stands."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ort_vitis_plugin import PowerOfTwoMethod, calibrate, quantize_static
from ort_vitis_plugin.api import hookimpl
from ort_vitis_plugin.emission.provenance import recorded
from ort_vitis_plugin.measure.network_error import NetworkError
from ort_vitis_plugin.pipeline.judged_equalization import EqualizationTrial, verdict
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import graph, plain_context
from tests.models.pooled_classifier import constants, pooled_classifier

RNG = np.random.default_rng(3)
CONSTANTS = constants(RNG)
TUNED = {"Preset": "XINT8", "FastFinetune": True}
PRESETS = ("BFP16", "XINT8", "XINT8_BEST", "A8W4")
FACTORS = np.float32(2.0) ** np.arange(-8, 8, dtype=np.float32)
# The first input channel is nearly silent.
LOUDNESS = np.float32([1e-5, 1, 1, 1]).reshape(1, 4, 1, 1)
SAMPLES = [{"x": LOUDNESS * RNG.normal(size=(1, 4, 8, 8)).astype(np.float32)} for _ in range(12)]


def skewed() -> onnx.ModelProto:
    """Channels that differ by thousands, and share exponents."""
    shapes = {"w": (16, 1, 1, 1), "b": (16,)}
    changed = {name: CONSTANTS[name] * FACTORS.reshape(shape) for name, shape in shapes.items()}
    return pooled_classifier({**CONSTANTS, **changed, "v": CONSTANTS["v"] / FACTORS[:, None]})


def misleading() -> onnx.ModelProto:
    """Channels of like size, but for weights that meet the silent input: equal in these, the others differ."""
    w = CONSTANTS["w"].copy()
    w[:, 0] *= 1000 * FACTORS[:, None, None]
    return pooled_classifier({**CONSTANTS, "w": w})


def even() -> onnx.ModelProto:
    """One layer: there is nothing to equalize."""
    return graph(
        "t (float[1, 4, 8, 8] x) => (float[1, 16, 6, 6] y) { c = Conv(x, w, b) y = Sigmoid(c) }",
        17,
        {"w": CONSTANTS["w"], "b": CONSTANTS["b"]},
    )


def answered(
    model: onnx.ModelProto, preset: str = "BFP16", *, samples: Any = SAMPLES, plugins: Any = None, **options: Any
) -> tuple[bool, list[str]]:
    """Whether channels were equalized, and what the recipe says of that."""
    options = {"Preset": preset, "BiasCorrection": False, **options}
    result = quantize_static(model, None, samples, extra_options=options, plugins=plugins)
    notes = [note for note in result.report.notes if "Recipe: cross-layer" in note]
    return bool(result.report.transforms.get("CrossLayerEqualization")), notes


@pytest.mark.parametrize("preset", PRESETS)
def test_what_gains_is_taken(preset: str) -> None:
    equalized, notes = answered(skewed(), preset)
    assert equalized
    assert "is taken: over 4 samples" in notes[0]


@pytest.mark.parametrize("preset", PRESETS)
def test_what_loses_is_left(preset: str) -> None:
    equalized, notes = answered(misleading(), preset)
    assert not equalized
    assert "is left" in notes[0]


def test_fine_tuning_begins_with_equalization_unless_far_more_is_lost() -> None:
    errors = [NetworkError(np.full((8, 1), error), np.ones(8)) for error in (0.01, 0.006, 0.0006, 0.5, 0.3, 0.2)]
    lost, near, tenth, noise, less, half = errors
    found = [
        verdict(plain_context(**options), now, before)[0]
        for options in ({"Preset": "BFP16"}, {"Preset": "XINT8_BEST"}, TUNED, {"Preset": "XINT8"})
        for now, before in ((lost, near), (lost, tenth), (noise, less), (noise, half), (near, lost))
    ]
    finetuned = [True, False, True, False, True]
    assert found == [False, False, False, False, True, *finetuned, *finetuned, False, False, False, False, True]


@pytest.mark.parametrize(("weight_range", "equalized"), [(None, False), ("method", True)])
def test_noise_is_judged_as_the_recipe_will_leave_it(
    monkeypatch: pytest.MonkeyPatch, weight_range: str | None, equalized: bool
) -> None:
    """The method alone gives noise, and less of it with equalization; weights that follow energies turn that round."""
    errors = {(True, False): 0.8, (False, False): 1.7, (True, True): 0.5, (False, True): 0.4}
    monkeypatch.setattr(
        EqualizationTrial,
        "error",
        lambda self, _, *, by_energy=False: NetworkError(
            np.full((4, 1), errors[self.is_equalized, by_energy]), np.ones(4)
        ),
    )
    assert answered(skewed(), "XINT8", WeightRange=weight_range)[0] == equalized


def test_what_is_near_already_is_left_without_a_trial() -> None:
    equalized, notes = answered(pooled_classifier(CONSTANTS), "XINT8")
    assert not equalized
    assert "is left without a trial: over 4 samples" in notes[0]


@pytest.mark.parametrize("forced", [True, False])
@pytest.mark.parametrize("preset", PRESETS)
def test_what_the_caller_asks_for_is_done(preset: str, forced: bool) -> None:
    assert answered(misleading() if forced else skewed(), preset, IncludeCLE=forced) == (forced, [])


def test_a_caller_may_let_samples_decide() -> None:
    options = {"EnableDPU": True, "IncludeCLE": "auto"}
    found = [
        quantize_static(model, None, SAMPLES, calibrate_method=PowerOfTwoMethod.MinMSE, extra_options=options)
        for model in (skewed(), misleading())
    ]
    assert [bool(each.report.transforms.get("CrossLayerEqualization")) for each in found] == [True, False]


@pytest.mark.parametrize(("preset", "model"), [("BFP16", misleading), ("XINT8", misleading), ("XINT8", skewed)])
def test_the_file_is_that_of_a_call_that_says_so(preset: str, model: Any) -> None:
    forced = model is skewed
    models = [
        quantize_static(model(), None, SAMPLES, extra_options={"Preset": preset, **options}).model
        for options in ({}, {"IncludeCLE": forced})
    ]
    weights = [{t.name: numpy_helper.to_array(t).tobytes() for t in model.graph.initializer} for model in models]
    assert weights[0] == weights[1]
    assert [n.op_type for n in models[0].graph.node] == [n.op_type for n in models[1].graph.node]


class Once:
    """A reader that says only when asked that it cannot start again."""

    def __init__(self) -> None:
        self._left = iter(SAMPLES)

    def __len__(self) -> int:
        return len(SAMPLES)

    def rewind(self) -> None:
        raise NotImplementedError

    def get_next(self) -> Any:
        return next(self._left, None)


UNJUDGED: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": lambda: {"Recipe": "plain"},
    "too few samples": lambda: {"samples": SAMPLES[:4]},
    "samples read once": lambda: {"samples": iter(SAMPLES)},
    "a rewind that refuses": lambda: {"samples": Once()},
}


@pytest.mark.parametrize("options", UNJUDGED.values(), ids=UNJUDGED)
@pytest.mark.parametrize(("preset", "stays"), [("BFP16", True), ("XINT8", False), ("XINT8_BEST", True)])
def test_where_nothing_is_judged_the_preset_stands(
    preset: str, stays: bool, options: Callable[[], dict[str, Any]]
) -> None:
    assert answered(misleading(), preset, **options()) == (stays, [])


@pytest.mark.filterwarnings("ignore::ort_vitis_plugin.errors.RandomDataWarning")
def test_random_data_judge_nothing() -> None:
    assert answered(skewed(), "XINT8", samples=None) == (False, [])


def test_ranges_that_later_calls_read_are_of_the_preset(tmp_path: Any) -> None:
    cache = str(tmp_path / "cache.npz")
    assert [answered(skewed(), "XINT8", CalibrationCache=cache) for _ in range(2)] == [(False, [])] * 2
    saved = calibrate(misleading(), SAMPLES, extra_options={"Preset": "XINT8_BEST"})
    result = quantize_static(
        misleading(), None, SAMPLES, calibration=saved, extra_options={"Preset": "XINT8_BEST", "FastFinetune": None}
    )
    assert result.report.transforms.get("CrossLayerEqualization")


def test_trials_run_a_few_samples() -> None:
    seen: list[int] = []

    class Observer:
        @hookimpl
        def vitis_stage_done(self, stage: str, value: Any) -> None:
            if stage == "calibrate":
                seen.append(value.samples)

    manager = new_manager(entry_points=False)
    manager.register(Observer())
    for model, counts in ((skewed(), [4, 4, 24]), (even(), [24])):
        seen.clear()
        answered(model, "XINT8", samples=[*SAMPLES, *SAMPLES], plugins=manager)
        assert seen == counts


def test_the_file_says_what_was_decided() -> None:
    found = [
        recorded(quantize_static(model, None, SAMPLES, extra_options={"Preset": "XINT8"}).model)
        for model in (skewed(), misleading())
    ]
    assert [facts["options"].get("IncludeCLE") for facts in found if facts is not None] == [True, None]
