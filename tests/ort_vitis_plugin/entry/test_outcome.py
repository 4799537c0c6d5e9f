"""A caller who holds no result learns of a bad one: by warning, log record, file and last_report()."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnxruntime.quantization import quantize_static

import ort_vitis_plugin as vitis
from ort_vitis_plugin.errors import ModelNotFoundError, OutputError
from ort_vitis_plugin.testing import graph

X = np.random.default_rng(0).uniform(0.5, 1, (2, 64)).astype(np.float32)
METHOD = {"Method": "NonOverflow"}


def network(scale: Any) -> ModelProto:
    """One product."""
    return graph("t (float[2, 64] x) => (float[2, 64] y) { y = Mul(x, k) }", 17, {"k": np.float32(scale)})


class Reader(vitis.CalibrationDataReader):  # type: ignore[misc]
    """Samples, each once."""

    def __init__(self, *arrays: np.ndarray[Any, Any]) -> None:
        self.rest = iter([{"x": array} for array in arrays])

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


def test_a_good_result_is_a_log_record_and_no_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, "ort_vitis_plugin"):
        warnings.simplefilter("error")
        quantize_static(network(1), tmp_path / "q.onnx", Reader(X), extra_options=METHOD)
    (record,) = (each for each in caplog.records if each.name == "ort_vitis_plugin.entry.outcome")
    assert record.levelno == logging.INFO
    assert "y " in record.getMessage()
    assert "1 nodes quantized" in record.getMessage()
    report = vitis.last_report()
    assert report is not None
    assert report.objections == {}
    assert report.sqnr["y"] > 30


@pytest.mark.parametrize("door", [quantize_static, vitis.quantize_static])
def test_a_bad_result_warns_at_both_doors(door: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Steps of 512 for values below 1: nothing is left of them."""
    values = {"k": np.float32(1), "least": np.float32(0), "most": np.float32(5)}
    model = graph("t (float[2, 64] x) => (float[2, 64] y) { a = Mul(x, k) y = Clip(a, least, most) }", 17, values)
    options = {**METHOD, "TensorQuantOverrides": {"x": [{"scale": np.float32(512), "zero_point": np.int8(0)}]}}
    with pytest.warns(vitis.AccuracyWarning, match=r"output y: .*nodes_to_exclude"):
        door(model, tmp_path / "q.onnx", Reader(X), extra_options=options)
    record = next(each for each in caplog.records if each.name == "ort_vitis_plugin.entry.outcome")
    assert record.levelno == logging.WARNING
    report = vitis.last_report()
    assert report is not None
    assert set(report.objections) == {"y"}


def test_the_report_is_written_where_the_options_say(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    quantize_static(network(1), tmp_path / "q.onnx", Reader(X), extra_options={**METHOD, "Report": str(path)})
    report = vitis.last_report()
    assert report is not None
    assert json.loads(path.read_text(encoding="utf-8")) == json.loads(report.to_json())


@pytest.mark.parametrize("name", ["no/such/folder.json", "."])
def test_a_report_that_cannot_be_written_is_told_before_work(name: str, tmp_path: Path) -> None:
    with pytest.raises((OutputError, ModelNotFoundError), match="the option Report"):
        quantize_static(network(1), tmp_path / "q.onnx", Reader(X), extra_options={"Report": str(tmp_path / name)})
    assert list(tmp_path.iterdir()) == []


def test_no_reader_is_onnxruntimes_error_at_its_door(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Either calibration_data_reader or an existing calibration_cache_path"):
        quantize_static(network(1), tmp_path / "q.onnx", None, extra_options=METHOD)
    assert list(tmp_path.iterdir()) == []


def test_no_reader_is_a_warning_at_ours() -> None:
    with pytest.warns(vitis.RandomDataWarning, match="random data calibrate"):
        result = vitis.quantize_static(network(1), None)
    assert result.report.random_data
    assert json.loads(result.report.to_json())["random_data"] is True


@pytest.mark.parametrize("door", [quantize_static, vitis.quantize_static])
def test_where_nothing_needs_samples_none_are_asked_for(door: Any, tmp_path: Path) -> None:
    halves = {"ActivationType": "QBFloat16", "WeightType": "QBFloat16", "Format": "VitisQuantFormat.QDQ"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        door(network(1), tmp_path / "q.onnx", None, extra_options=halves)
    report = vitis.last_report()
    assert report is not None
    assert any("needs no calibration data" in note for note in report.notes)
    assert report.sqnr == {}


def test_with_a_saved_calibration_the_figure_is_labelled(capsys: pytest.CaptureFixture[str]) -> None:
    calibration = vitis.calibrate(network(1), [{"x": X}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = vitis.quantize_static(network(1), None, calibration=calibration).report
    assert report.random_data
    report.print()
    assert "Against float, on random data" in " ".join(capsys.readouterr().out.split())
