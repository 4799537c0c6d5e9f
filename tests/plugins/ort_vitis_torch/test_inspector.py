"""Every node is listed once, with where it runs and the caller's line; devices are those of the host's forecast."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402

from .networks import digits  # noqa: E402


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)

    def forward(self, x: Any) -> Any:
        return torch.erf(self.conv(x))


def test_placement_with_reasons_and_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ovt.Inspector("AMD_AIE2_Nx4_Overlay_cfg0").inspect(Mixed().eval(), digits().images[:1], output_dir=tmp_path)
    found = {line.node: line for line in lines}
    assert len(found) == len(lines)
    assert found["/conv/Conv"].device == "DPU"
    assert found["/Erf"].device == "CPU"
    assert found["/Erf"].reason
    first = Mixed.forward.__code__.co_firstlineno
    assert found["/conv/Conv"].source.endswith(f"test_inspector.py:{first + 1}")
    assert found["/Erf"].source.endswith(f"test_inspector.py:{first}")
    written = (tmp_path / "inspect_AMD_AIE2_Nx4_Overlay_cfg0.txt").read_text()
    assert written.count("\n") == len(lines) + 1
    printed = capsys.readouterr().out
    assert "/Erf" in printed
    assert "/conv/Conv" not in printed


def test_unknown_targets_list_the_known_ones() -> None:
    with pytest.raises(ovt.ConfigError, match="the known ones are AMD_AIE2_Nx4_Overlay_cfg0"):
        ovt.Inspector("DPUCZDX8G_ISA1_B4096")
