"""What the caller states of channels must be about channels that the tensor has."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import numpy as np
import pytest
from onnxruntime.quantization import QuantType

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.options.options import OptionWarning
from ort_vitis_plugin.planning.constants import _by_channel, check_channels
from ort_vitis_plugin.testing import graph
from tests.ort_vitis_plugin.planning.networks import MIN_MAX, SECOND, parameters, quantized


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ([{"axis": 2}], r"names the axis 2, which a tensor of shape \[4, 3\] does not have"),
        ([{"axis": -3}], "names the axis -3"),
        ([{"axis": 1}, {}], "speaks of 2 channels; along the axis 1 the tensor has 3"),
    ],
)
def test_channels_that_are_not_there_are_told(stated: list[dict[str, object]], text: str) -> None:
    with pytest.raises(OptionError, match=rf"TensorQuantOverrides\['w'\] {text}"):
        check_channels("w", (4, 3), stated)


@pytest.mark.parametrize("stated", [[], [{}], [{"axis": 1}], [{"axis": -1}, {}, {}], [{"axis": 0}, {}, {}, {}]])
def test_one_entry_for_all_or_one_for_each(stated: list[dict[str, object]]) -> None:
    check_channels("w", (4, 3), stated)


def test_of_a_channel_that_nothing_depends_on_all_elements_count_alike() -> None:
    found = _by_channel(np.float32([[0, 1], [0, 2]]), 1)
    assert [None if row is None else row.tolist() for row in found] == [[1, 1], [1, 2]]


@pytest.mark.filterwarnings("ignore:BlockSize has no effect")
def test_matrices_have_blocks_unless_their_parameters_are_stated() -> None:
    w = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    gemm = graph("t (float[1,8] x) => (float[1,4] y) { y = MatMul(x, w) }", 21, {"w": w})
    samples = [{"x": np.ones((1, 8), np.float32)}]
    stated = {"w": [{"scale": np.float32(0.5), "zero_point": np.int8(0)}]}
    for overrides, shape in (({}, (2, 4)), (stated, ())):
        options = {"Target": "cpu", "BlockSize": 4, "TensorQuantOverrides": overrides, "SelfCheck": False}
        found = quantize_static(gemm, None, samples, calibrate_method=MIN_MAX, extra_options=options).model
        assert np.shape(parameters(found, "w")[0]) == shape


def test_what_is_no_matrix_has_no_blocks_and_says_so() -> None:
    with pytest.warns(OptionWarning, match="BlockSize has no effect"):
        found = quantized(extra_options={"Target": "cpu", "BlockSize": 4})
    assert [note for note in found.report.notes if note.startswith("BlockSize: w2 of shape [2, 4, 1, 1]")]
    assert np.shape(parameters(found.model, "w2")[0]) == ()


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    "stated", [{"scale": np.float32(0.0625), "zero_point": np.int8(0)}, {"rmin": np.float32(-4), "rmax": np.float32(4)}]
)
def test_stated_parameters_follow_no_energy(stated: dict[str, object], per_channel: bool) -> None:
    overrides = {"w2": [{"axis": 0, **stated}] if per_channel else [stated]}
    whatever_the_cpu = {"Target": "cpu", "AvoidSaturation": False}
    scales = [
        parameters(quantized(overrides, extra_options={**whatever_the_cpu, "WeightRange": asked}).model, "w2")[0]
        for asked in ("method", "energy")
    ]
    np.testing.assert_array_equal(*scales)


@pytest.mark.parametrize(
    ("kind", "asked", "expected"),
    [
        (QuantType.QUInt8, {}, (1 / 255, 0)),
        (QuantType.QUInt8, {"WeightSymmetric": True}, (2 / 255, 128)),
        (QuantType.QInt8, {}, (1 / 127, 0)),
        (QuantType.QInt8, {"WeightSymmetric": False}, (1 / 255, -128)),
    ],
)
def test_a_stated_range_is_taken_as_it_is_unless_symmetry_is_asked_for(
    kind: QuantType, asked: dict[str, bool], expected: tuple[float, int]
) -> None:
    """As in onnxruntime, whose unsigned weights are asymmetric by default."""
    stated = {"w2": [{"rmin": np.float32(0), "rmax": np.float32(1)}]}
    options = {"Target": "cpu", "AvoidSaturation": False, "SelfCheck": False, **asked}
    found = quantized(stated, weight_type=kind, extra_options=options)
    assert parameters(found.model, "w2")[:2] == pytest.approx(expected)


@pytest.mark.parametrize("symmetric", [True, False, None])
def test_all_channels_have_one_zero_point(symmetric: bool | None) -> None:
    options = {} if symmetric is None else {"WeightSymmetric": symmetric}
    found = quantized(per_channel=True, weight_type=QuantType.QUInt8, extra_options=options).model
    assert parameters(found, "w2")[1] == [128] * len(SECOND)
