"""Samples may be looked at before calibration without being used up; random ones, or a reader read once, give none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import Context, Declaration, Graph, Stage, first_samples, hookimpl, transform
from ort_vitis_plugin.data_readers import RandomDataReader
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import graph, plain_context
from tests.models.networks import FeedReader


def model() -> ModelProto:
    return graph("t (float[1, 4] x) => (float[1, 4] y) { h = Add(x, x) y = Sub(h, x) }")


def feeds(count: int = 6) -> list[dict[str, Any]]:
    return [{"x": np.full((1, 4), number + 1, np.float32)} for number in range(count)]


def seen(reader: Any) -> tuple[list[float], float]:
    """What a step saw, and the largest value that calibration saw after it."""
    found: list[float] = []

    @transform("Looks", stage=Stage.PREPARE)
    def looks(graph: Graph, context: Context) -> int:
        """Look at samples."""
        found.extend(float(feed["x"][0, 0]) for feed in first_samples(context, graph.to_model(), 4))
        return 0

    class Plugin:
        @hookimpl
        def vitis_declare(self) -> Iterator[Declaration]:
            yield looks

    manager = new_manager(entry_points=False)
    manager.register(Plugin())
    result = quantize_static(
        *(model(), None, reader),
        calibrate_method=CalibrationMethod.MinMax,
        activation_type=QuantType.QUInt8,
        plugins=manager,
        extra_options={"Target": "cpu", "SelfCheck": False},
    )
    scale = next(numpy_helper.to_array(each) for each in result.model.graph.initializer if "scale" in each.name)
    return found, round(float(scale) * 255, 3)


@pytest.mark.parametrize("kind", [list, FeedReader])
def test_the_first_are_seen_and_all_calibrate(kind: Any) -> None:
    assert seen(kind(feeds())) == ([1.0, 2.0, 3.0, 4.0], 6.0)


def once() -> Iterator[dict[str, Any]]:
    yield from feeds()


def test_what_is_read_once_is_left_to_calibration() -> None:
    assert seen(once()) == ([], 6.0)


@pytest.mark.filterwarnings("ignore")
def test_random_ones_tell_nothing() -> None:
    assert seen(RandomDataReader(model(), samples=3))[0] == []


def test_a_context_without_samples_gives_none() -> None:
    assert first_samples(plain_context(), model(), 4) == []
