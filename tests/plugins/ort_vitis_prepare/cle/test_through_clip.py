"""Factors pass a ReLU6 where samples show that it does not act, and only there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Graph
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import graph, run_model
from ort_vitis_prepare.cle.pairs import limit_of
from tests.plugins.ort_vitis_prepare.cle.observer import Observer
from tests.zoo.configurations import NPU_CLE

pytestmark = pytest.mark.filterwarnings("ignore")
BODY = "h = Conv(x, w) r = Clip(h, lo, hi) y = Conv(r, u)"
# Rows of w: the first never comes near 6 over samples of 0 to 1, the second passes it.
ROWS = (0.02, 20.0)


def network() -> ModelProto:
    w, u = np.zeros((2, 1, 1, 1), np.float32), np.zeros((1, 2, 1, 1), np.float32)
    w[:, 0, 0, 0], u[0, :, 0, 0] = ROWS, (50.0, 1.0)
    limits = {"lo": np.array(0, np.float32), "hi": np.array(6, np.float32)}
    return graph(f"t (float[1, 1, 3, 3] x) => (float[1, 1, 3, 3] y) {{ {BODY} }}", constants={"w": w, "u": u, **limits})


def feeds(count: int = 8, seed: int = 0) -> list[dict[str, Any]]:
    draw = np.random.default_rng(seed)
    return [{"x": draw.uniform(0, 1, (1, 1, 3, 3)).astype(np.float32)} for _ in range(count)]


def equalized(reader: Any, model: ModelProto | None = None, **options: Any) -> ModelProto:
    observer, manager = Observer(), new_manager(entry_points=False)
    manager.register(observer)
    asked = {"CLEThroughClip": True, "SelfCheck": False, "Recipe": "plain", **options}
    quantize_static(model or network(), None, reader, plugins=manager, **{**NPU_CLE, "extra_options": asked})
    return observer.model


def rows(model: ModelProto) -> list[float]:
    weights = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    return [float(row) for row in next(each for each in weights if each.shape == (2, 1, 1, 1)).ravel()]


@pytest.mark.option("CLEThroughClip")
def test_a_channel_below_its_limit_is_equalized_and_one_at_it_stays() -> None:
    small, large = rows(equalized(feeds()))
    assert small == pytest.approx((ROWS[0] * 50.0) ** 0.5, rel=1e-5)
    assert large == ROWS[1]
    assert rows(equalized(feeds(), CLEThroughClip=False)) == pytest.approx(ROWS)


def test_what_comes_may_be_twice_as_large_as_what_came() -> None:
    model, other = network(), equalized(feeds())
    for feed in feeds(seed=1):
        twice = {"x": 2 * feed["x"]}
        np.testing.assert_allclose(run_model(other, twice)["y"], run_model(model, twice)["y"], rtol=1e-5)


def test_no_factor_brings_a_channel_to_its_limit() -> None:
    model = network()
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.full((1, 2, 1, 1), 1e5, np.float32), "u"))
    found = equalized(feeds(), model)
    largest = max(float(feed["x"].max()) for feed in feeds()) * ROWS[0]
    assert rows(found)[0] == pytest.approx(ROWS[0] * 3 / largest, rel=1e-5)


def test_without_samples_nothing_passes() -> None:
    assert rows(equalized(None)) == pytest.approx(ROWS)
    assert rows(equalized(iter(feeds()))) == pytest.approx(ROWS)


def test_a_small_channel_beside_a_large_one_keeps_its_bits() -> None:
    model, errors = network(), []
    for through in (False, True):
        options = {"CLEThroughClip": through, "ActivationSymmetric": True}
        found = quantize_static(model, None, feeds(16), **{**NPU_CLE, "extra_options": options}).model
        gaps = [run_model(found, feed)["y"] - run_model(model, feed)["y"] for feed in feeds(seed=2)]
        errors.append(float(np.sqrt(np.mean(np.square(gaps)))))
    assert errors[1] < errors[0] / 2


@pytest.mark.parametrize(
    ("clip", "limit"),
    [
        ("y = Clip(x, zero, half)", 0.5),
        ("y = Clip(x, zero, one)", 1.0),
        ("y = Clip(x, zero, endless)", None),
        ("y = Clip(x, zero, zero)", None),
        ("y = Clip(x, half, one)", None),
        ("y = Clip(x, zero)", None),
        ("y = Relu(x)", None),
    ],
)
def test_a_limit_is_that_of_a_clip_from_zero(clip: str, limit: float | None) -> None:
    numbers = {"zero": 0.0, "half": 0.5, "one": 1.0, "endless": np.inf}
    constants = {name: np.array(number, np.float32) for name, number in numbers.items() if name in clip}
    edited = Graph(graph(f"t (float[2] x) => (float[2] y) {{ {clip} }}", constants=constants))
    assert limit_of(edited, next(iter(edited))) == limit
