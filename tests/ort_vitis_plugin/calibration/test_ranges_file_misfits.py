"""A file of ranges that does not fit its call is named before samples are read; a call that fails leaves none."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import PowerOfTwoMethod, calibrate
from ort_vitis_plugin.errors import CalibrationError, OptionError, OptionTypeError, UnsupportedError
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.calibration.ranges_files import feeds, network, normal, ours


def _edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        payload = json.loads(path.read_text())
        change(payload)
        path.write_text(json.dumps(payload))

    return edit


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


NAN = float("nan")
MISFITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (_folder, "is not a file"),
    "no JSON": (lambda path: path.write_text("{"), "not a calibration cache .*delete it"),
    "JSON too deep": (lambda path: path.write_text('{"a":' * 100_000), "not a calibration cache .*RecursionError"),
    "another JSON": (lambda path: path.write_text("[1, 2]"), "not a calibration cache"),
    "no data": (_edited(lambda payload: payload.pop("data")), "not a calibration cache .*'data'"),
    "a range cut off": (_edited(lambda payload: payload["data"]["x"].pop("highest")), "not a .*'highest'"),
    "an empty range": (_edited(lambda payload: payload["data"]["x"]["lowest"].update(data=[])), "not a calibration"),
    "a word for a number": (_edited(lambda payload: payload["data"]["x"].update(lowest="low")), "not a calibration"),
    "another method": (
        _edited(lambda payload: payload["calibration_method"].update(value="CalibrationMethod.Entropy")),
        "made with CalibrationMethod.Entropy, but calibrate_method is CalibrationMethod.MinMax; delete it",
    ),
    "an unknown method": (_edited(lambda payload: payload["calibration_method"].update(value="Best")), "not a .*Best"),
    "a missing tensor": (_edited(lambda payload: payload["data"].pop("r")), "no range of the tensor r: .*delete it"),
    "SmoothQuant": (_edited(lambda payload: payload.update(smooth_quant=True)), "SmoothQuant.*delete it"),
    "NaN": (_edited(lambda payload: payload["data"]["x"]["lowest"].update(data=NAN)), r"range of x is \[nan"),
    "upside down": (_edited(lambda payload: payload["data"]["x"]["lowest"].update(data=1e6)), r"x is \[1e\+06"),
}


@pytest.mark.parametrize(("spoil", "message"), MISFITS.values(), ids=MISFITS.keys())
def test_a_file_that_does_not_fit_is_named(spoil: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    ours(path, feeds())
    spoil(path)
    asked: list[int] = []

    def reader() -> Iterator[dict[str, np.ndarray]]:
        for number, feed in enumerate(feeds()):
            asked.append(number)
            yield feed

    with pytest.raises(CalibrationError, match=message) as caught:
        ours(path, reader())
    assert str(path) in str(caught.value)
    assert asked == [], "calibration had begun"


def test_a_file_of_another_model_is_named(tmp_path: Path) -> None:
    other = graph(
        "t (float[1, 4] x) => (float[1, 5] q) { p = MatMul(x, w) q = Relu(p) }", constants={"w": normal(1, 4, 5)}
    )
    ours(tmp_path / "ranges.json", feeds())
    with pytest.raises(CalibrationError, match="no range of the tensor q"):
        ours(tmp_path / "ranges.json", None, other)


def test_calls_that_cannot_have_one(tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    with pytest.raises(UnsupportedError, match=r"MinMSE.*CalibrationCache"):
        ours(path, feeds(), calibrate_method=PowerOfTwoMethod.MinMSE)
    with pytest.raises(UnsupportedError, match="EnableSubgraph use"):
        ours(path, feeds(), extra_options={"EnableSubgraph": True})
    with pytest.raises(CalibrationError, match="does not exist; give one"):
        ours(path)
    with pytest.raises(OptionTypeError, match="calibration_cache_path takes the path of a file, not 3"):
        ours(3, feeds())  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="ranges of one method"):
        calibrate(network(), feeds(), calibration_cache_path=path)
    assert not path.exists()
    ours(path, feeds())
    with pytest.raises(OptionError, match="both give ranges"):
        ours(path, calibration=calibrate(network(), feeds()))


def test_a_call_that_fails_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[dict[str, np.ndarray]]:
        yield from feeds(2)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        ours(tmp_path / "ranges.json", broken())
    assert list(tmp_path.iterdir()) == []

    def fail(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        ours(tmp_path / "ranges.json", feeds())
    assert list(tmp_path.iterdir()) == []
