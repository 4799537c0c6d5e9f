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


@pytest.mark.parametrize("training", [False, True])
def test_the_module_stays_in_the_mode_it_is_in_part_by_part(tmp_path: Path, training: bool) -> None:
    module = Mixed().train(training)
    module.conv.train(not training)
    ovt.Inspector().inspect(module, digits().images[:1], output_dir=tmp_path, verbose_level=0)
    assert [part.training for part in module.modules()] == [training, not training]


def test_packages_beside_torch_are_not_torch(tmp_path: Path) -> None:
    file = f"{Path(torch.__file__).parent}vision/net.py"
    space: dict[str, Any] = {"Mixed": Mixed, "torch": torch}
    source = "class Net(Mixed):\n    def forward(self, x):\n        return torch.erf(self.conv(x))\n"
    exec(compile(source, file, "exec"), space)
    lines = ovt.Inspector().inspect(space["Net"](), digits().images[:1], output_dir=tmp_path, verbose_level=0)
    assert next(line for line in lines if line.node == "/conv/Conv").source.endswith("vision/net.py:3")


def test_unknown_targets_list_the_known_ones() -> None:
    with pytest.raises(ovt.ConfigError, match="the known ones are AMD_AIE2_Nx4_Overlay_cfg0"):
        ovt.Inspector("DPUCZDX8G_ISA1_B4096")
