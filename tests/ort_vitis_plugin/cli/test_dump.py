"""``ort-vitis dump`` writes the codes of every quantized tensor."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

from tests.ort_vitis_plugin.cli.commands import run


def test_dump_writes_codes(folder: Path) -> None:
    assert run("quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn -q") == 0
    assert run("dump q.onnx --data samples.npz -o codes") == 0
    assert (folder / "codes" / "index.json").is_file()
    assert list((folder / "codes").glob("*.bin"))
