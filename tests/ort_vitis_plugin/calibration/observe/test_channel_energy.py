"""The nodes give the sum of squares of each channel, in every opset and for every rank."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin.calibration.channel_squares import Channels
from ort_vitis_plugin.calibration.observe.channel_energy import attach_energies, sums_name
from ort_vitis_plugin.testing import run_model

X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


def model(opset: int) -> ModelProto:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "one", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("opset", [13, 17, 18])
@pytest.mark.parametrize(
    ("channels", "axes"),
    [(Channels("x", 1, 3, 3), (0, 2)), (Channels("x", 2, 4, 3), (0, 1)), (Channels("x", -1, 4), (0, 1))],
    ids=["the second axis", "the last axis", "any rank"],
)
def test_sums_are_those_of_numpy(opset: int, channels: Channels, axes: tuple[int, ...]) -> None:
    observed = model(opset)
    sums, size = attach_energies(observed, [channels])
    found: dict[str, Any] = run_model(observed, {"x": X})
    np.testing.assert_allclose(found[sums], (X.astype(np.float64) ** 2).sum(axes), rtol=1e-5)
    assert found[size] == X.size


def test_each_tensor_has_names_of_its_own() -> None:
    names = list(attach_energies(model(17), [Channels("x", 1, 3, 3), Channels("y", 1, 3, 3)]))
    assert len(set(names)) == 4
    assert names[2] == sums_name(1)
