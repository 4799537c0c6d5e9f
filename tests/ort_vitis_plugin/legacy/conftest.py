"""What the tests of this folder work on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import pytest

from ort_vitis_plugin.legacy import calibrate

if TYPE_CHECKING:
    from pathlib import Path
from tests.ort_vitis_plugin.legacy.networks import Reader, network


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(network(), tmp_path / "network.onnx")
    return tmp_path / "network.onnx"


@pytest.fixture
def parameters(path: Path) -> dict[str, list[Any]]:
    return calibrate(path, Reader())
