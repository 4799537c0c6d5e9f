"""Arguments of 2019 are checked, and one warning names the call of today."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from ort_vitis_plugin.errors import (
    OptionError,
    OptionTypeError,
    UnknownNameError,
    UnsupportedError,
)
from ort_vitis_plugin.legacy import calibrate, quantize
from ort_vitis_plugin.options.options import OptionWarning

if TYPE_CHECKING:
    from pathlib import Path
from tests.ort_vitis_plugin.legacy.networks import LINEAR, Reader, network

pytestmark = pytest.mark.filterwarnings("ignore:.*is the interface of 2019:DeprecationWarning")


def test_one_deprecation_warning_names_todays_call(path: Path) -> None:
    for call, today in (
        (lambda: quantize(network()), "quantize_dynamic"),
        (lambda: calibrate(path, Reader()), "create_calibrator"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        ours = [warning for warning in caught if "interface of 2019" in str(warning.message)]
        assert [warning.category for warning in ours] == [DeprecationWarning]
        assert today in str(ours[0].message)
        assert ours[0].filename == __file__


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"nbits": 4}, UnsupportedError, "nbits=4 is not supported, only 8"),
        ({"quantization_mode": 1}, OptionTypeError, "QuantizationMode"),
        ({"static": True}, OptionError, "needs quantization_params"),
        ({"quantization_mode": LINEAR}, OptionError, "needs quantization_params"),
        ({"quantization_params": {"x": [256, 0.1]}}, OptionError, "256 is no whole number from 0 to 255"),
        ({"quantization_params": {"x": [0, 0.0]}}, OptionError, "scale 0.0 is not a positive float32"),
        ({"quantization_params": {"x": [0, "a"]}}, OptionTypeError, "takes two numbers"),
        ({"quantization_params": {"x": 3}}, OptionTypeError, r"takes \[zero_point, scale\]"),
        ({"quantization_params": [1]}, OptionTypeError, "takes {name"),
        ({"nodes_to_quantize": ["conv3"]}, UnknownNameError, "no node is called 'conv3'; did you mean conv2 or conv1"),
        (
            {"quantization_mode": LINEAR, "static": True, "quantization_params": {"x": [0, 0.1]}},
            OptionError,
            "no node can be quantized.*conv1: c1",
        ),
    ],
)
def test_quantize_refuses(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        quantize(network(), **arguments)


def test_unknown_tensor_warns() -> None:
    with pytest.warns(OptionWarning, match=r"'xx'\] has no effect: no activation has this name; did"):
        quantize(network(), quantization_params={"xx": [0, 0.1]})


def test_quantize_takes_a_model_not_a_path() -> None:
    with pytest.raises(OptionTypeError, match=r"use onnx\.load"):
        quantize("model.onnx")  # type: ignore[arg-type]
