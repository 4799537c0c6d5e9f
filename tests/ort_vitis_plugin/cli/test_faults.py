"""Faults that users met on the command line, each as it was typed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo.export import export_demo


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the demo is exported: digits.onnx, samples.npz, pictures."""
    export_demo(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> int:
    return main(line.split())


def quantized(name: str = "q.onnx", more: str = "--preset ipu_cnn") -> str:
    assert run(f"quantize digits.onnx -o {name} --data samples.npz --samples 4 -q {more}") == 0
    return name


def test_types_in_overrides_have_names(folder: Path) -> None:
    option = 'TensorQuantOverrides={"logits":[{"quant_type":"QInt16"}]}'
    assert main(["quantize", "digits.onnx", "-o", "q.onnx", "--data", "samples.npz", "-q", "--option", option]) == 0
    types = {tensor.data_type for tensor in onnx.load("q.onnx").graph.initializer}
    assert onnx.TensorProto.INT16 in types


@pytest.mark.parametrize("columns", ["80", "40"])
def test_options_crop_nothing(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    monkeypatch.setenv("COLUMNS", columns)
    assert run("options") == 0
    words = " ".join(capsys.readouterr().out.split())
    for option in shared_catalog().options.values():
        assert f"{option.key}: {option.type_name} = " in words
        assert " ".join(option.doc.split()) in words


@pytest.mark.parametrize(
    "line",
    [
        "quantize --exclude op:Gemm op:Conv digits.onnx -o q.onnx --data samples.npz -q",
        "quantize --option CLESteps=2 SelfCheck=1 digits.onnx -o q.onnx --data samples.npz -q --cle",
        "quantize --fix-shape image=1,1,8,8 digits.onnx -o q.onnx --data samples.npz -q",
    ],
)
def test_a_flag_of_several_words_leaves_the_model_alone(line: str, folder: Path) -> None:
    assert run(line) == 0
    assert (folder / "q.onnx").is_file()


def test_unrelated_models_are_no_perfect_match(
    folder: Path, graph: Callable[..., onnx.ModelProto], capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(graph("t (float[1, 3, 4, 4] image) => (float[1, 3, 4, 4] logits) { logits = Relu(image) }"), "other.onnx")
    quantized()
    assert run("errors other.onnx q.onnx") == 2
    assert "inf" not in capsys.readouterr().out
    assert run("evaluate q.onnx digits.onnx") == 2
    assert "give the float model first" in capsys.readouterr().err


def test_another_float_model_is_warned_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quantized()
    model = onnx.load("digits.onnx")
    weight = next(tensor for tensor in model.graph.initializer if len(tensor.dims) == 2)
    array = onnx.numpy_helper.to_array(weight) * np.float32(1.5)
    weight.CopyFrom(onnx.numpy_helper.from_array(array, weight.name))
    onnx.save(model, "other.onnx")
    assert run("evaluate other.onnx q.onnx --data samples.npz") == 0
    assert "made from another float model than 'other.onnx'" in capsys.readouterr().err
    assert run("evaluate digits.onnx q.onnx --data samples.npz") == 0
    assert "warning" not in capsys.readouterr().err


def test_errors_reads_how_the_file_was_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without flags the float model is equalized as the quantized one was: weights do not seem to err."""
    quantized(more="--preset ipu_cnn --cle --option Recipe=plain")
    assert run("errors digits.onnx q.onnx --data samples.npz --samples 4 --json with.json -q") == 0
    assert (
        run("errors digits.onnx q.onnx --data samples.npz --samples 4 --preset ipu_cnn --cle --json flags.json -q") == 0
    )
    assert json.loads(Path("with.json").read_text()) == json.loads(Path("flags.json").read_text())


def test_a_calibration_says_what_it_was_made_with(
    folder: Path, graph: Callable[..., onnx.ModelProto], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("calibrate digits.onnx -o c.npz --data samples.npz --samples 4 --nchw-to-nhwc") == 0
    assert run("quantize digits.onnx --calibration c.npz -o q.onnx") == 2
    assert "it was made with ConvertNCHWToNHWC=True then and default now" in capsys.readouterr().err
    weights = np.ones((2, 1, 3, 3), np.float32)
    text = "t (float[1, 1, 8, 8] image) => (float[1, 2, 6, 6] y) { y = Conv(image, w) }"
    onnx.save(graph(text, 11, {"w": weights}), "old.onnx")
    assert run("calibrate old.onnx -o c.npz --data samples.npz --samples 4") == 0
    assert run("quantize old.onnx --calibration c.npz -o q.onnx --per-channel") == 2
    told = capsys.readouterr().err
    assert "opset=11 then and 13 now" in told
    assert "--per-channel=default then and True now" in told


@pytest.mark.parametrize(
    "line",
    [
        "quantize digits.onnx --data samples.npz -o q.onnx",
        "forecast digits.onnx",
        "info digits.onnx",
        "evaluate digits.onnx digits.onnx --data pictures --scale 0.0041666667",
        "options CLE",
        "explain MinMSE",
        "plugins",
        "preprocess digits.onnx",
        "fix-shape digits.onnx",
    ],
)
def test_json_on_stdout_is_all_that_is_there(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{line} --json -") == 0
    json.loads(capsys.readouterr().out)
    assert not (folder / "-").exists()


def test_calibration_files_have_the_usual_rights(folder: Path) -> None:
    before = os.umask(0o022)
    try:
        assert run("calibrate digits.onnx -o c.npz --data samples.npz --samples 2") == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "c.npz").stat().st_mode) == 0o644


def test_plots_are_refused_before_the_work(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("calibrate digits.onnx -o c.npz --data samples.npz --plot plots") == 2
    assert not (folder / "c.npz").exists()


def test_no_option_is_an_error_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("options CLEStep1s") == 2
    assert "no option holds 'CLEStep1s'; did you mean CLESteps?" in capsys.readouterr().err


def test_explain_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain MinMSE") == 0
    assert "Power-of-two step of least squared error" in capsys.readouterr().out
    assert run("explain A16W8") == 0
    assert "activation_type = VitisQuantType.QInt16" in capsys.readouterr().out


def test_messages_speak_of_flags(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize digits.onnx -o q.onnx --data samples.npz --exclude /no/*") == 2
    told = capsys.readouterr().err
    assert "--exclude: the pattern '/no/*' hits no node" in told
    assert "nodes_to_exclude" not in told
    quantized()
    assert run("quantize q.onnx -o q2.onnx --data samples.npz -q") == 0
    assert "--option QuantizeQuantized=True" in capsys.readouterr().err


def test_an_exclusion_without_effect_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = next(node.name for node in onnx.load("digits.onnx").graph.node if node.op_type in ("Clip", "Relu"))
    assert run(f"quantize digits.onnx -o q.onnx --data samples.npz --samples 4 --preset ipu_cnn --exclude {clip}") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"excluding {clip}" in shown
    assert "exclude them too: " in shown


def test_a_file_that_is_no_smaller_says_why(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize digits.onnx -o q.onnx --data samples.npz --samples 4 --format VitisQuantFormat.QDQ") == 0
    assert "this format keeps weights as floats in front of their pairs" in " ".join(capsys.readouterr().out.split())


def test_the_demo_tells_its_two_ratios_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo") == 0
    assert "SQNR of the logits on them (above: on calibration samples)" in capsys.readouterr().out
