"""What the tests of this folder work on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.demo import data
from ort_vitis_plugin.demo.export import export_demo
from ort_vitis_plugin.testing import graph


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with model.onnx and samples.npz."""
    shutil.copy(data.model_path(), tmp_path / "model.onnx")
    feeds = data.evaluation_feeds(8)
    np.savez(tmp_path / "samples.npz", image=np.concatenate([feed[data.INPUT] for feed in feeds]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder into which the demo is exported: digits.onnx, samples.npz, pictures."""
    export_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def dynamic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with dynamic.onnx, whose batch is open, and x.npy."""
    monkeypatch.chdir(tmp_path)
    constants = {"w": np.ones((2, 3, 1, 1), np.float32)}
    text = "t (float[N, 3, 8, 8] x) => (float[N, 2, 8, 8] y) { z = Conv(x, w) y = Relu(z) }"
    onnx.save(graph(text, constants=constants), "dynamic.onnx")
    np.save("x.npy", np.random.default_rng(0).normal(size=(3, 3, 8, 8)).astype(np.float32))
    return tmp_path
