"""The two complete examples run on the digits, as a user runs them, and reach what they promise."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")
pytest.importorskip("sklearn")

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _as_scripts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "docs" / "examples"))
    monkeypatch.chdir(tmp_path)


def main(name: str) -> Any:
    return importlib.import_module(name).main


def test_post_training_with_fast_fine_tuning() -> None:
    script = main("torch_post_training")
    for mode in ("calib", "test"):
        accuracy = script(["--quant_mode", mode, "--fast_finetune", "--bitwidth", "4"])
    assert accuracy >= 93
    assert Path("quantize_result/Net.onnx").exists()


def test_training() -> None:
    assert main("torch_qat")(["--bitwidth", "3"]) >= 94
    assert Path("qat_result/Net.onnx").exists()
