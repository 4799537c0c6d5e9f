"""The files that samples come from are known, whatever they are given as."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path

import numpy as np

from ort_vitis_plugin import calibration_data
from ort_vitis_plugin.data_readers.sample_paths import sample_paths


def test_files_and_folders(tmp_path: Path) -> None:
    for name in ("a.npy", "b.npy", "c.txt"):
        (tmp_path / name).write_bytes(b"")
    np.save(tmp_path / "a.npy", np.zeros((1, 3), np.float32))
    one, two = tmp_path / "a.npy", tmp_path / "b.npy"
    assert sample_paths(str(one)) == [one]
    assert sample_paths(tmp_path) == [one, two]
    assert sample_paths(calibration_data(tmp_path)) == [one, two]
    assert sample_paths(calibration_data(one)) == [one]


def test_what_is_no_file() -> None:
    for source in (None, [], {"x": np.zeros(3)}, np.zeros((2, 3)), "", 3, iter([])):
        assert sample_paths(source) == []
