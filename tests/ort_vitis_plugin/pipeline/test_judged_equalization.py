"""Samples held out decide on the equalization that a preset of block types asks for; the caller's word stands."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from ort_vitis_plugin import quantize_static
from tests.models.pooled_classifier import constants, pooled_classifier

RNG = np.random.default_rng(3)
CONSTANTS = constants(RNG)
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


def answered(model: onnx.ModelProto, *, samples: Any = SAMPLES, **options: Any) -> tuple[bool, list[str]]:
    """Whether channels were equalized, and what the recipe says of that."""
    options = {"Preset": "BFP16", "BiasCorrection": False, **options}
    result = quantize_static(model, None, samples, extra_options=options)
    notes = [note for note in result.report.notes if "Recipe: cross-layer" in note]
    return bool(result.report.transforms.get("CrossLayerEqualization")), notes


def test_what_gains_is_taken() -> None:
    equalized, notes = answered(skewed())
    assert equalized
    assert "is taken: over 4 samples" in notes[0]


def test_what_loses_is_left() -> None:
    equalized, notes = answered(misleading())
    assert not equalized
    assert "is left: over 4 samples" in notes[0]


def test_the_file_is_that_of_a_call_without() -> None:
    models = [
        quantize_static(misleading(), None, SAMPLES, extra_options={"Preset": "BFP16", **options}).model
        for options in ({}, {"IncludeCLE": False})
    ]
    weights = [{t.name: numpy_helper.to_array(t).tobytes() for t in model.graph.initializer} for model in models]
    assert weights[0] == weights[1]
    assert [n.op_type for n in models[0].graph.node] == [n.op_type for n in models[1].graph.node]


@pytest.mark.parametrize(
    "options",
    [{"IncludeCLE": True}, {"Recipe": "plain"}, {"samples": SAMPLES[:4]}, {"samples": iter(SAMPLES)}],
    ids=["asked for", "plain", "too few samples", "samples read once"],
)
def test_where_nothing_is_judged_the_preset_stands(options: dict[str, Any]) -> None:
    assert answered(misleading(), **options) == (True, [])
