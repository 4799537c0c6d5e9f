"""What the tests of this folder work on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ort_vitis_plugin
from ort_vitis_plugin.plugin.manager import Manager
from tests.ort_vitis_plugin.plugin.sites import (
    MODEL,
    Quantize,
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "ort_vitis_mine", raising=False)
    yield tmp_path
    sys.modules.pop("ort_vitis_mine", None)


@pytest.fixture
def model(graph: Callable[..., onnx.ModelProto]) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((4, 4, 3, 3)).astype(np.float32)
    return graph(MODEL, constants={"w": weights, "b": np.zeros(4, np.float32)})


@pytest.fixture
def quantize(model: onnx.ModelProto, reader: Callable[..., Any]) -> Quantize:
    def run(manager: Manager, **options: Any) -> Any:
        return ort_vitis_plugin.quantize_static(model, None, reader(model), extra_options=options, plugins=manager)

    return run
