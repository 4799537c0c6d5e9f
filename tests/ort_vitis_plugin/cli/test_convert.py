"""``ort-vitis convert-*`` write one rewrite of a model to a new file."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tests.ort_vitis_plugin.cli.commands import op_types, run


def test_converters_write_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert-nchw-to-nhwc model.onnx -o nhwc.onnx") == 0
    dims = onnx.load("nhwc.onnx").graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [1, 8, 8, 1]
    assert "channels last" in capsys.readouterr().out
    assert run("evaluate model.onnx nhwc.onnx --data samples.npz") == 0
    assert run("convert-fp16-to-fp32 model.onnx -o fp32.onnx") == 0
    assert run("preprocess model.onnx -o clean.onnx") == 0
    assert "BatchNormalization" not in op_types(folder / "clean.onnx")


def test_tools_for_quantized_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o v.onnx --data samples.npz --format VitisQuantFormat.QDQ -q") == 0
    verbs = {
        "convert-standard-to-vitis s.onnx -o back.onnx": "VitisQuantizeLinear",
        "convert-domain v.onnx -o k.onnx --domain com.amd.quark": "ExtendedQuantizeLinear",
        "convert-quantized-to-float v.onnx -o f.onnx": "Conv",
        "remove-initializers-from-inputs model.onnx -o i.onnx": "Conv",
    }
    assert run("quantize model.onnx -o s.onnx --data samples.npz --preset cpu -q") == 0
    for line, expected in verbs.items():
        assert run(line) == 0
        assert expected in op_types(folder / line.split()[3])
    assert "VitisQuantizeLinear" not in op_types(folder / "f.onnx")
    assert run("convert-vitis-to-standard back.onnx -o again.onnx") == 0
    assert "QuantizeLinear" in op_types(folder / "again.onnx")
    assert run("convert-npu-to-cpu v.onnx -o n.onnx") == 0
    assert run("convert-qdq-to-qoperator s.onnx -o q.onnx") == 0
    assert "QLinearConv" in op_types(folder / "q.onnx")
    capsys.readouterr()
    for one, other in (("s.onnx", "again.onnx"), ("v.onnx", "k.onnx"), ("v.onnx", "n.onnx")):
        assert run(f"evaluate {one} {other} --data samples.npz") == 0
        assert "inf dB" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["convert qdq-to-qoperator", "convert-vitis-to-standard"])
def test_a_domain_where_none_is_named_is_refused(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(folder.iterdir())
    assert run(f"{verb} model.onnx -o q.onnx --domain com.amd.quark") == 2
    assert "--domain com.amd.quark: " in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before
