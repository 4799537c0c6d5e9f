"""Weights come from a file into a copy of the module, or one line says what is wrong with the file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.state_file import with_state  # noqa: E402


def test_the_copy_has_the_weights_of_the_file(tmp_path: Path) -> None:
    saved, module = nn.Linear(2, 3), nn.Linear(2, 3)
    torch.save(saved.state_dict(), tmp_path / "state.pth")
    changed: Any = with_state(module, tmp_path / "state.pth")
    assert torch.equal(changed.weight, saved.weight)
    assert not torch.equal(module.weight, saved.weight)


WRONG: dict[str, tuple[Callable[[Path], object], type[Exception], str]] = {
    "missing": (lambda path: None, ovt.StageError, "there is no state_dict_file"),
    "text": (lambda path: path.write_text("x"), ovt.MismatchError, "holds no weights"),
    "empty": (lambda path: path.write_bytes(b""), ovt.MismatchError, "holds no weights"),
    "checkpoint": (
        lambda path: torch.save({"state_dict": {}, "epoch": 3}, path),
        ovt.MismatchError,
        r"more than tensors by name \(state_dict, epoch\); save the state_dict of the model alone",
    ),
    "tensor": (lambda path: torch.save(torch.ones(2), path), ovt.MismatchError, r"by name \(Tensor\)"),
    "other": (
        lambda path: torch.save(nn.Linear(2, 4).state_dict(), path),
        ovt.MismatchError,
        "saved from another Linear: size mismatch for weight",
    ),
}


@pytest.mark.parametrize(("write", "error", "says"), WRONG.values(), ids=WRONG)
def test_a_file_that_does_not_fit_is_refused_in_one_line(
    write: Callable[[Path], object], error: type[Exception], says: str, tmp_path: Path
) -> None:
    write(tmp_path / "state.pth")
    with pytest.raises(error, match=says) as caught:
        with_state(nn.Linear(2, 3), tmp_path / "state.pth")
    assert "\n" not in str(caught.value)
