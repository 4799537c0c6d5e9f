"""A call without samples runs on random ones and says so; libraries come from all who know one."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_plugin.pipeline.inputs import libraries_of, samples_of
from ort_vitis_plugin.testing import graph, plain_context

MODEL = graph("t (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }")


@pytest.mark.parametrize(
    ("options", "noted"),
    [
        ({}, True),
        ({"reader": [{"x": [[0.0] * 3] * 2}]}, False),
        ({"calibration": object()}, False),
        ({"CalibrationCachePath": "ranges.json"}, False),
    ],
    ids=["none", "samples", "a calibration", "a file of ranges"],
)
def test_random_data_is_noted(options: dict[str, Any], noted: bool) -> None:
    call = plain_context(**options)
    samples = samples_of(call, MODEL)
    assert any("calibrated with random data" in note for note in call.report.notes) == noted
    assert [set(feed) for feed in samples.some(4)] == [{"x"}]


def test_the_callers_libraries_come_once_and_behind_the_plugins() -> None:
    call = plain_context(CustomOpLibraries=["b.so", "a.so", "b.so"])
    assert libraries_of(call, MODEL) == [*call.catalog.libraries(), "b.so", "a.so"]
