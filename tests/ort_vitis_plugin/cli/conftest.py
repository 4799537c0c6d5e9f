"""What the tests of this folder work on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from ort_vitis_plugin.demo import data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with model.onnx and samples.npz."""
    shutil.copy(data.model_path(), tmp_path / "model.onnx")
    feeds = data.evaluation_feeds(8)
    np.savez(tmp_path / "samples.npz", image=np.concatenate([feed[data.INPUT] for feed in feeds]))
    monkeypatch.chdir(tmp_path)
    return tmp_path
