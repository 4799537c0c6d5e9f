"""A calibration survives on disk, merges, and refuses another model."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ort_vitis_plugin.calibration import Calibration, calibration, calibration_of
from ort_vitis_plugin.calibration.channel_squares import Channels
from ort_vitis_plugin.errors import CalibrationError
from tests.ort_vitis_plugin.calibration.sources import (
    TENSORS,
    Ranged,
    content,
    network,
    spoiled,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_saved_and_loaded(tmp_path: Path) -> None:
    made = calibration_of(network(), spoiled(8), TENSORS)
    made.save(tmp_path / "c.npz")
    back = Calibration.load(tmp_path / "c.npz", network(), TENSORS)
    assert content(back) == content(made)
    assert back.fingerprint == made.fingerprint
    assert os.listdir(tmp_path) == ["c.npz"]


def test_files_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    with pytest.raises(CalibrationError, match="there is no calibration file"):
        Calibration.load(path)
    path.write_bytes(b"something else")
    with pytest.raises(CalibrationError, match=r"is not a calibration file: it is neither \.npy nor \.npz"):
        Calibration.load(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(CalibrationError, match="is not a calibration file"):
        Calibration.load(path)
    made = calibration_of(network(), Ranged(2), ["x"])
    made.save(path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(CalibrationError, match="is not a calibration file"):
        Calibration.load(path)
    with monkeypatch.context() as patch:
        patch.setattr(calibration, "_VERSION", 7)
        made.save(path)
    with pytest.raises(CalibrationError, match="version 7"):
        Calibration.load(path)
    made.save(path)
    with pytest.raises(CalibrationError, match="has no tensor h"):
        Calibration.load(path, network(), ["x", "h"])
    other = network()
    other.graph.initializer[0].float_data[0] = 5
    with pytest.raises(CalibrationError, match="made for another model"):
        Calibration.load(path, other)


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.npz"
    made = calibration_of(network(), Ranged(2), ["x"])
    made.save(path)
    before = path.read_bytes()

    def full(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="disk full"):
        made.save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["c.npz"]


def test_merge() -> None:
    feeds = spoiled(10)
    first, second = calibration_of(network(), feeds[:6], ["x", "h"]), calibration_of(network(), feeds[6:], ["x", "h"])
    first.merge(second)
    assert content(first) == content(calibration_of(network(), feeds, ["x", "h"]))
    with pytest.raises(CalibrationError, match="only one of the calibrations has h"):
        first.merge(calibration_of(network(), feeds, ["x"]))
    other = network()
    other.graph.node[1].op_type = "Tanh"
    with pytest.raises(CalibrationError, match="different models"):
        first.merge(calibration_of(other, feeds, ["x", "h"]))


def test_parts_of_the_samples_have_the_energies_of_all() -> None:
    feeds, wanted = spoiled(10), [Channels("x", -1, 4)]
    parts = [calibration_of(network(), some, ["x"], channels=wanted) for some in (feeds[:6], feeds[6:])]
    first, second = parts
    first.merge(second)
    whole = calibration_of(network(), feeds, ["x"], channels=wanted)
    assert list(first.energies) == wanted
    np.testing.assert_array_equal(first.energies[wanted[0]].places, whole.energies[wanted[0]].places)
    first.merge(calibration_of(network(), feeds, ["x"]))
    assert first.energies == {}  # of some of the samples alone they would not be the mean


@pytest.mark.parametrize("change", [{"tensors": "x"}, {"tensors": [1]}, {"samples": "2"}, {"samples": True}])
def test_a_head_of_other_kinds_is_none(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "c.npz"
    calibration_of(network(), Ranged(2), ["x"]).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    head = json.loads(arrays["head"].tobytes())
    arrays["head"] = np.frombuffer(json.dumps(head | change).encode(), np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(CalibrationError, match="is not a calibration file"):
        Calibration.load(path)
