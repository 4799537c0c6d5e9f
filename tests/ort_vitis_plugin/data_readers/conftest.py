"""What the tests of this folder work on."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    """``made({"a.png": array})``: a folder with these pictures."""
    Image = pytest.importorskip("PIL.Image")

    def make(pictures: dict[str, Any]) -> Path:
        for name, array in pictures.items():
            file = tmp_path / "imgs" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(array, bytes):
                file.write_bytes(array)
            else:
                (Image.fromarray(array) if isinstance(array, np.ndarray) else array).save(file)
        return tmp_path / "imgs"

    return make
