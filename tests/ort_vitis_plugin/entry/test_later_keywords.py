"""Keywords of later versions mean the same call, and one warning says so."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import ort_vitis_plugin as vitis
from ort_vitis_plugin.demo import data
from ort_vitis_plugin.options.options import OptionWarning

CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "enable_ipu_cnn": ({"enable_ipu_cnn": True}, "ipu_cnn"),
    "enable_npu_cnn": ({"enable_npu_cnn": True}, "ipu_cnn"),
    "enable_ipu_transformer": ({"enable_ipu_transformer": True}, "ipu_transformer"),
    "enable_npu_transformer": (
        {"enable_npu_transformer": True, "extra_options": {"SelfCheck": False}},
        "ipu_transformer",
    ),
    "none of them": ({"enable_npu_transformer": False, "enable_npu_cnn": False}, "cpu"),
}


@pytest.mark.parametrize(("keywords", "target"), CALLS.values(), ids=CALLS)
def test_it_is_read_and_said_once(keywords: dict[str, Any], target: str, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = vitis.quantize_static(
            input_model_path=data.model_path(),
            output_model_path=tmp_path / "q.onnx",
            calibration_data_reader=data.calibration_reader(2),
            **keywords,
        )
    assert result.report.configuration["target"] == target
    assert result.path == tmp_path / "q.onnx"
    said = [str(each.message) for each in caught if issubclass(each.category, OptionWarning)]
    assert len([text for text in said if "input_model_path as model_input" in text]) == 1
    assert __file__ in {each.filename for each in caught if "later version" in str(each.message)}


def test_two_values_for_one_argument_are_refused() -> None:
    with pytest.raises(TypeError, match="input_model_path and model_input, which are one argument"):
        vitis.quantize_static(model_input="a.onnx", input_model_path="b.onnx", model_output=None)
