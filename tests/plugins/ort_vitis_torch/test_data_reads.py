"""A forward that turns data into Python values is told where it does so; shapes, parameters and constants are none."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install ort-vitis-plugin[torch]")

from torch import nn  # noqa: E402

import ort_vitis_torch as ovt  # noqa: E402
from ort_vitis_torch.data_reads import watched  # noqa: E402


class Reads(nn.Module):
    """``how`` is what forward does before it returns its input."""

    def __init__(self, how: Any) -> None:
        super().__init__()
        self.how, self.factor = how, nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Any) -> Any:
        return x * 2 if self.how(self, x) else x


OF_DATA = {
    "bool": lambda _, x: x.sum() * 0.5 > 0,
    "item": lambda _, x: x.abs().max().item(),
    "float": lambda _, x: float(x[0, 0]),
    "equal": lambda _, x: torch.equal(x, x + 1),
    "tolist": lambda _, x: x.sum(0).tolist()[0] > 0,
    "numpy": lambda _, x: x.detach().numpy().max() > 0,
    "array": lambda _, x: np.asarray(x.abs()).max() > 0,
    "index": lambda _, x: [1, 2, 3][x.argmax()],
    "contains": lambda _, x: 1.0 in x,
}
OF_OTHERS = {
    "shape": lambda _, x: x.shape[0] > 1 and x.numel() > 3,
    "parameter": lambda module, _: module.factor.item() > 1,
    "constant": lambda _, __: bool(torch.ones(3).sum() > 2),
    "lists": lambda module, _: torch.ones(3).tolist()[0] > 0 and module.factor.detach().numpy() > 1,
}


@pytest.mark.parametrize("how", OF_DATA.values(), ids=OF_DATA)
def test_reading_data_is_seen_with_its_line(how: Any) -> None:
    x = torch.ones(2, 3)
    _, places = watched(Reads(how), (x,), [x])
    assert places
    assert all("test_data_reads.py:" in place for place in places)
    with pytest.raises(ovt.ExportError, match=r"Reads turns data of a tensor .* at .*; use torch.where"):
        ovt.export(Reads(how), x)


@pytest.mark.parametrize("how", OF_OTHERS.values(), ids=OF_OTHERS)
def test_reading_anything_else_is_no_such_thing(how: Any) -> None:
    x = torch.ones(2, 3)
    result, places = watched(Reads(how), (x,), [x])
    assert not places
    assert torch.equal(result, Reads(how)(x))
    ovt.export(Reads(how), x)


def test_who_asks_for_torchscript_keeps_the_branch_of_the_example() -> None:
    with pytest.warns(UserWarning, match="which a graph keeps as it is for input_args"):
        exported = ovt.export(Reads(OF_DATA["bool"]), torch.ones(2, 3), exporter="torchscript")
    assert [node.op_type for node in exported.model.graph.node][-1] == "Mul"
