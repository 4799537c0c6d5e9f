"""Options that cannot act are told by name, all of them by their declarations; and those that are told do nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import (
    CalibrationMethod,
    PowerOfTwoMethod,
    QuantFormat,
    QuantType,
    VitisQuantFormat,
    VitisQuantType,
    quantize_static,
)
from ort_vitis_plugin.api import UnsupportedError, settings_for
from ort_vitis_plugin.options.options import OptionWarning
from ort_vitis_plugin.plugin.catalog import shared_catalog
from ort_vitis_plugin.plugin.declarations import Adjuster, Format, Fusion, LeaveFloat, Transform, declared_options
from ort_vitis_plugin.request.no_effect import without_effect
from ort_vitis_plugin.testing import graph, random_feeds
from tests.models.serialized import without_provenance

CATALOG = shared_catalog()
NPU: dict[str, Any] = {"enable_dpu": True, "activation_type": QuantType.QUInt8}


def told(options: dict[str, Any], **arguments: Any) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptionWarning)  # the nearest switch is told when options are read
        return dict(without_effect(settings_for(**arguments, extra_options=options)))


OF_THE_NPU = sorted(
    known.key
    for kind in (Adjuster, Fusion, LeaveFloat, Transform)
    for entry in CATALOG.all(kind)
    if entry.target == "ipu_cnn"
    for known in declared_options(entry)
)


@pytest.mark.parametrize("key", [*OF_THE_NPU, "IPULimitationCheck", "NPULimitationCheck", "SimulateDPU"])
def test_what_belongs_to_another_target_is_told(key: str) -> None:
    options = (
        {key: True, "SimulateDPU": True, "IPULimitationCheck": True} if key != "NPULimitationCheck" else {key: True}
    )
    found = told(options)
    canonical = key.replace("NPU", "IPU", 1) if key.startswith("NPU") else key
    assert found[canonical] == "it is for the target ipu_cnn, and the target is cpu"
    assert told({key: True}, **NPU) == {}
    assert told({key: False}) == {}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a rule with wide codes": (
        {"AdjustShiftCut": True},
        {
            **NPU,
            "quant_format": VitisQuantFormat.QDQ,
            "activation_type": VitisQuantType.QInt16,
            "weight_type": VitisQuantType.QInt16,
        },
        "the device of the target ipu_cnn does not compute in QInt16 by QInt16",
    ),
    "another method": (
        {"CalibPercentile": 99.0},
        {"calibrate_method": CalibrationMethod.MinMax},
        "it is for the method Percentile, and the method is CalibrationMethod.MinMax",
    ),
    "a power-of-two method": (
        {"MinMSEMode": "MostCommon"},
        {"calibrate_method": PowerOfTwoMethod.NonOverflow},
        "it is for the method MinMSE, and the method is PowerOfTwoMethod.NonOverflow",
    ),
    "another format": (
        {"extra.Sigmoid.nnapi": True},
        {},
        "it is for the format QuantFormat.QOperator, and the format is QuantFormat.QDQ",
    ),
    "pairs of a format of its own": (
        {"UseQDQContribOps": True},
        {"quant_format": VitisQuantFormat.FixNeuron},
        "the format VitisQuantFormat.FixNeuron has no use for it",
    ),
    "the switch behind the switch": (
        {"CLEWeightThreshold": 0.25},
        {},
        "IncludeCLE is not set",
    ),
    "another target's word": (
        {"AvoidSaturation": True},
        NPU,
        "it is for the target cpu, and the target is ipu_cnn",
    ),
    "no channels": (
        {"QDQOpTypePerChannelSupportToAxis": {"MatMul": 1}},
        {},
        "per_channel is not set",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_reason_is_told(case: str) -> None:
    options, arguments, reason = CASES[case]
    assert told(options, **arguments) == {next(iter(options)): reason}


ACTING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "its method": ({"CalibPercentile": 99.0}, {"calibrate_method": CalibrationMethod.Percentile}),
    "its format": ({"extra.Sigmoid.nnapi": True}, {"quant_format": QuantFormat.QOperator}),
    "a default of onnxruntime's, as clients write it": ({"CalibPercentile": 99.999, "CalibMovingAverage": False}, {}),
    "switched off": ({"AdjustShiftCut": False, "SimulateDPU": False}, {}),
    "everything that CLE needs": ({"IncludeCLE": True, "CLEWeightThreshold": 0.25}, {}),
    "channels": ({"QDQOpTypePerChannelSupportToAxis": {"MatMul": 1}}, {"per_channel": True}),
}


@pytest.mark.parametrize("case", ACTING)
def test_nothing_is_said_of_what_acts(case: str) -> None:
    options, arguments = ACTING[case]
    assert told(options, **arguments) == {}


def test_each_is_one_warning_by_name() -> None:
    model = graph("t (float[1, 4] x) => (float[1, 4] y) { y = MatMul(x, w) }", 17, {"w": np.eye(4, dtype=np.float32)})
    options = {"AdjustShiftCut": True, "CalibPercentile": 90.0}
    with pytest.warns(OptionWarning) as seen:
        quantize_static(model, None, random_feeds(model), extra_options=options)
    assert sorted(str(each.message).split()[0] for each in seen) == ["AdjustShiftCut", "CalibPercentile"]


VALUES: dict[str, Any] = {
    "AddQDQPairToWeight": True,
    "DedicatedQDQPair": True,
    "QDQDisableWeightAdjustForInt32Bias": True,
    "UseQDQContribOps": True,
}
IGNORED = [(entry.key, key) for entry in CATALOG.all(Format) for key in sorted(entry.writer.ignores)]


@pytest.mark.parametrize(("quant_format", "key"), IGNORED, ids=[f"{a}-{b}" for a, b in IGNORED])
def test_what_a_format_has_no_use_for_changes_no_byte(quant_format: Any, key: str) -> None:
    rng = np.random.default_rng(0)
    values = {
        "w": rng.standard_normal((4, 3, 3, 3)).astype(np.float32) * 1e-6,
        "b": rng.standard_normal(4).astype(np.float32) * 100,
        "k": rng.standard_normal((4, 4)).astype(np.float32),
    }
    body = "c = Conv(x, w, b) r = Relu(c) p = GlobalAveragePool(r) f = Flatten(p) m = MatMul(f, k) y = Add(m, f)"
    model = graph(f"t (float[1, 3, 6, 6] x) => (float[1, 4] y) {{ {body} }}", 17, values)

    def written(options: dict[str, Any]) -> bytes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OptionWarning)
            result = quantize_static(
                model,
                None,
                random_feeds(model),
                quant_format=quant_format,
                calibrate_method=CalibrationMethod.MinMax,
                extra_options=options,
            )
        return without_provenance(result.model)

    assert written({key: VALUES[key]}) == written({})


@pytest.mark.parametrize("argument", ["per_channel"])
def test_what_a_format_cannot_write_is_refused_before_the_first_sample(argument: str) -> None:
    class Reader:
        def get_next(self) -> None:
            raise AssertionError("a sample was read")

    model = graph("t (float[1, 4] x) => (float[1, 4] y) { y = MatMul(x, w) }", 17, {"w": np.eye(4, dtype=np.float32)})
    arguments: dict[str, Any] = {argument: True, "quant_format": VitisQuantFormat.FixNeuron}
    with pytest.raises(UnsupportedError, match="one position for all channels"):
        quantize_static(model, None, Reader(), **arguments)
