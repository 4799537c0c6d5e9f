"""Our own door: a Result always, a file where one is asked for, and one calibration for many calls."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnxruntime.quantization import CalibrationMethod

from ort_vitis_plugin.entry.quantize_static import calibrate, prepared, quantize_static, request_of, settings_for
from ort_vitis_plugin.errors import OptionError, UnknownNameError
from ort_vitis_plugin.testing import graph, random_feeds


def model() -> ModelProto:
    text = "t (float[1, 4] x) => (float[1, 3] y) { h = Gemm(x, w)  y = Relu(h) }"
    return graph(text, constants={"w": np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)})


def feeds() -> list[dict[str, np.ndarray]]:
    return [random_feeds(model(), seed) for seed in range(4)]


def test_a_file_is_written_where_one_is_asked_for(tmp_path: Path) -> None:
    source, target = tmp_path / "float.onnx", tmp_path / "quantized.onnx"
    onnx.save(model(), source)
    before = source.read_bytes()
    result = quantize_static(source, target, feeds())
    assert result.path == target
    assert result.report.quantized_bytes == target.stat().st_size
    alone = quantize_static(model(), None, feeds())
    assert alone.path is None
    assert alone.model.SerializeToString(deterministic=True) == onnx.load(target).SerializeToString(deterministic=True)
    assert source.read_bytes() == before
    assert set(tmp_path.iterdir()) == {source, target}


def test_one_calibration_serves_many_calls() -> None:
    once = calibrate(model(), feeds())
    for method in (CalibrationMethod.MinMax, CalibrationMethod.Percentile):
        options = {"calibrate_method": method, "extra_options": {"Recipe": "plain"}}
        given = quantize_static(model(), None, None, calibration=once, **options)
        read = quantize_static(model(), None, feeds(), **options)
        assert given.model.SerializeToString(deterministic=True) == read.model.SerializeToString(deterministic=True)


def test_what_prepares_runs_no_sample() -> None:
    assert [node.op_type for node in prepared(model(), optimize_model=False).graph.node] == ["Gemm", "Relu"]


def test_settings_follow_from_keywords_alone() -> None:
    assert settings_for(enable_dpu=True).target.name == "ipu_cnn"
    with pytest.raises(UnknownNameError, match="did you mean ipu_cnn"):
        settings_for(extra_options={"Target": "ipu_cn"})
    with pytest.raises(OptionError):
        settings_for(enable_dpu=True, extra_options={"Target": "cpu"})
    with pytest.raises(TypeError):
        request_of(model(), None, {"per_chanel": True, "model_input": "twice"})


def test_the_summary_is_printed_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    quantize_static(model(), None, feeds(), print_summary=False)
    assert "Gemm" not in capsys.readouterr().out
    quantize_static(model(), None, feeds(), print_summary=True)
    assert "Gemm" in capsys.readouterr().out
