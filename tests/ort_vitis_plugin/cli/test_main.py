"""The command line: what each verb does, what a wrong call prints, and that nothing is left behind by a failure."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.demo import data


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with model.onnx and samples.npz."""
    shutil.copy(data.model_path(), tmp_path / "model.onnx")
    feeds = data.evaluation_feeds(8)
    np.savez(tmp_path / "samples.npz", image=np.concatenate([feed[data.INPUT] for feed in feeds]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(line: str) -> int:
    return main(line.split())


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def op_types(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


def test_quantize_writes_the_model_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (folder / "model.onnx").read_bytes()
    assert run("quantize model.onnx -o int8.onnx --data samples.npz --preset ipu_cnn") == 0
    assert files(folder) == {"model.onnx", "samples.npz", "int8.onnx"}
    assert (folder / "model.onnx").read_bytes() == before
    assert "QuantizeLinear" in op_types(folder / "int8.onnx")
    shown = capsys.readouterr().out
    for part in ("Operators", "Moved by hardware rules", "AlignPool", "SQNR", "bytes float", "written: int8.onnx"):
        assert part in shown


def test_quantize_json_is_the_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "quantize model.onnx -o q.onnx --data samples.npz --exclude /stem/stem.0/Conv --json report.json -q"
    assert run(arguments) == 0
    assert capsys.readouterr().out == ""
    report = json.loads((folder / "report.json").read_text())
    assert report["left_float"]["/stem/stem.0/Conv"] == "Conv: in nodes_to_exclude"
    assert report["sqnr"]["logits"] > 10


def test_preset_is_the_recommended_configuration(folder: Path) -> None:
    """ipu_cnn: powers of two and unsigned activations; ipu_transformer: neither."""
    kinds = {}
    for preset in ("ipu_cnn", "ipu_transformer"):
        assert (
            main(["quantize", "model.onnx", "-o", f"{preset}.onnx", "--data", "samples.npz", "--preset", preset]) == 0
        )
        model = onnx.load(folder / f"{preset}.onnx")
        constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
        pairs = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
        scales = np.array([constants[node.input[1]] for node in pairs], dtype=np.float64)
        kinds[preset] = (
            bool(np.all(np.log2(scales) == np.round(np.log2(scales)))),
            {str(constants[node.input[2]].dtype) for node in pairs},
        )
    assert kinds == {"ipu_cnn": (True, {"uint8"}), "ipu_transformer": (False, {"int8"})}


def test_flags_win_over_the_preset(folder: Path) -> None:
    arguments = "quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn --activation-type QInt8"
    assert run(arguments) == 0
    model = onnx.load(folder / "q.onnx")
    constants = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    zeros = [constants[node.input[2]].dtype for node in model.graph.node if node.op_type == "QuantizeLinear"]
    assert set(map(str, zeros)) == {"int8"}


def test_without_data_random_samples_calibrate_and_it_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o q.onnx --preset cpu") == 0
    assert "random data" in capsys.readouterr().out


ONE_LINERS = {
    "no model": ("quantize missing.onnx -o q.onnx", "'missing.onnx' does not exist"),
    "not a model": ("quantize samples.npz -o q.onnx", "is not an ONNX model"),
    "no output folder": ("quantize model.onnx -o no/q.onnx", "'no' of the output does not exist"),
    "the input itself": ("quantize model.onnx -o model.onnx", "is the input itself"),
    "misspelt option": (
        "quantize model.onnx -o q.onnx --option AdjustShiftcut=1",
        "AdjustShiftcut is not an option; did you mean AdjustShiftCut",
    ),
    "unheard-of option": ("quantize model.onnx -o q.onnx --option Zzz=1", "Zzz is not an option; `ort-vitis options`"),
    "wrong type": ("quantize model.onnx -o q.onnx --option CLESteps=many", "option CLESteps takes int, not 'many'"),
    "no value": ("quantize model.onnx -o q.onnx --option CLESteps", "takes Key=Value, not 'CLESteps'"),
    "unknown target": ("quantize model.onnx -o q.onnx --preset ipu_cn", "did you mean ipu_cnn"),
    "unknown method": ("quantize model.onnx -o q.onnx --method MinMEE", "MinMSE"),
    "unknown type": ("quantize model.onnx -o q.onnx --activation-type QInt7", "'QInt7' is not a quantization type"),
    "unknown node": (
        "quantize model.onnx -o q.onnx --exclude /stem/stem.0/Con",
        "no node '/stem/stem.0/Con'; did you mean /stem/stem.0/Conv",
    ),
    "impossible": ("quantize model.onnx -o q.onnx --preset ipu_cnn --method MinMax", "PowerOfTwoMethod.MinMSE"),
    "two targets": ("quantize model.onnx -o q.onnx --preset cpu --option EnableDPU=1", "give one of them"),
    "no data": ("quantize model.onnx -o q.onnx --data nowhere.npz", "'nowhere.npz' does not exist"),
    "unknown name": ("explain MinMes", "no plugin declares MinMes; did you mean MinMSE"),
    "forecast without one": ("forecast model.onnx --preset cpu", "has no forecast"),
    "errors of strangers": ("errors model.onnx model.onnx", "no quantized tensor in common"),
    "evaluate without model": ("evaluate model.onnx none.onnx", "'none.onnx' does not exist"),
}


@pytest.mark.parametrize(("arguments", "message"), ONE_LINERS.values(), ids=ONE_LINERS.keys())
def test_errors_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str) -> None:
    before = files(folder)
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert message in shown.err
    assert files(folder) == before


def test_option_without_effect_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("quantize model.onnx -o q.onnx --option CLESteps=3 -q") == 0
    assert "warning: CLESteps has no effect because IncludeCLE is not set" in capsys.readouterr().err


def test_interrupt_is_130_and_leaves_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ort_vitis_plugin.data_readers import CalibrationData

    def interrupted(self: CalibrationData, number: int, item: Any) -> Any:
        if number == 3:
            raise KeyboardInterrupt
        return original(self, number, item)

    original = CalibrationData._sample
    monkeypatch.setattr(CalibrationData, "_sample", interrupted)
    before = files(folder)
    assert run("quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn") == 130
    assert files(folder) == before


def test_demo_keeps_no_file_and_tells_the_accuracies(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files(folder)
    assert main(["demo"]) == 0
    assert files(folder) == before
    lines = capsys.readouterr().out.splitlines()
    float_accuracy, int8_accuracy = (
        float(next(line for line in lines if line.strip().startswith(f"{kind} accuracy")).split()[-1].rstrip("%"))
        for kind in ("float", "int8")
    )
    decibels = float(next(line for line in lines if "SQNR of the logits" in line).split()[-2])
    assert float_accuracy >= 96
    assert int8_accuracy >= float_accuracy - 1
    assert decibels >= 20


@pytest.mark.slow
def test_demo_writes_where_it_is_told(folder: Path) -> None:
    assert main(["demo", "-o", "demo.onnx"]) == 0
    assert "DequantizeLinear" in op_types(folder / "demo.onnx")


def test_evaluate_compares_outputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate model.onnx model.onnx --data samples.npz") == 0
    assert "inf dB" in capsys.readouterr().out
    model = onnx.load("model.onnx")
    weight = next(t for t in model.graph.initializer if len(t.dims) == 2)
    weight.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(weight) * np.float32(1.01), weight.name))
    onnx.save(model, "other.onnx")
    assert run("evaluate model.onnx other.onnx --data samples.npz") == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "logits" in line)
    assert 35 < float(row.split()[1]) < 45  # 1 % of all but the bias: near 40 dB


def test_errors_lists_tensors_worst_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Equalization changes what tensors hold: against the float model equalized likewise they do not seem to err."""
    configured = "--data samples.npz --preset ipu_cnn --cle"
    assert run(f"quantize model.onnx -o q.onnx {configured} -q") == 0
    assert run(f"errors model.onnx q.onnx {configured} --all") == 0
    shown = capsys.readouterr().out.splitlines()
    through = [float(line.split(" dB")[0].split()[-1]) for line in shown if line.rstrip().endswith("dB")]
    assert len(through) > 20
    assert through == sorted(through)
    assert through[0] > 10
    assert run("errors model.onnx q.onnx --data samples.npz --preset ipu_cnn") == 0
    assert f"... {len(through) - 20} more" in capsys.readouterr().out


def test_forecast_lists_what_stays_away(
    folder: Path, graph: Callable[..., onnx.ModelProto], capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(graph("t (float[1, 3, 8, 8] x) => (float[1, 3, 8, 8] y) { z = Relu(x) y = Sin(z) }"), "small.onnx")
    assert run("forecast small.onnx") == 0
    shown = capsys.readouterr().out
    assert "Sin" in shown
    assert "takes 1 of 2 nodes" in shown


def test_options_lists_every_key(capsys: pytest.CaptureFixture[str]) -> None:
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    assert main(["options"]) == 0
    shown = capsys.readouterr().out
    assert [key for key in shared_catalog().options if key not in shown] == []


def test_explain_and_plugins_name_distribution(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "NPULimitationCheck"]) == 0
    shown = capsys.readouterr().out
    assert "IPULimitationCheck: bool = True" in shown
    assert main(["plugins"]) == 0
    shown = capsys.readouterr().out
    assert "ort-vitis-plugin 0.1.0" in shown
    assert "ort_vitis_ipu" in shown


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


def test_dump_writes_codes(folder: Path) -> None:
    assert run("quantize model.onnx -o q.onnx --data samples.npz --preset ipu_cnn -q") == 0
    assert run("dump q.onnx --data samples.npz -o codes") == 0
    assert (folder / "codes" / "index.json").is_file()
    assert list((folder / "codes").glob("*.bin"))


def test_one_calibration_serves_many_configurations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("calibrate model.onnx -o c.npz --data samples.npz") == 0
    assert "8 samples" in capsys.readouterr().out
    for name, method in (("a", "MinMSE"), ("b", "MinMax")):
        assert run(f"quantize model.onnx -o {name}.onnx --calibration c.npz --method {method} -q") == 0
        assert run(f"quantize model.onnx -o {name}2.onnx --data samples.npz --method {method} -q") == 0
        assert (folder / f"{name}.onnx").read_bytes() == (folder / f"{name}2.onnx").read_bytes()
    assert run("quantize model.onnx -o q.onnx --calibration none.npz") == 2
    assert "none.npz" in capsys.readouterr().err


def test_workers_and_a_checkpoint_do_not_change_a_calibration(folder: Path) -> None:
    from ort_vitis_plugin.calibration import Calibration

    assert run("calibrate model.onnx -o one.npz --data samples.npz") == 0
    assert run("calibrate model.onnx -o two.npz --data samples.npz --workers 2 --checkpoint begun.npz") == 0
    one, two = Calibration.load("one.npz"), Calibration.load("two.npz")
    assert (one.samples, one.fingerprint, one.sketches) == (two.samples, two.fingerprint, two.sketches)
    assert not (folder / "begun.npz").exists()


@pytest.mark.slow
def test_calibrate_plots(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run("calibrate model.onnx -o c.npz --data samples.npz --plot plots --preset ipu_cnn") == 0
    drawn = list((folder / "plots").glob("*.png"))
    assert len(drawn) > 10
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in drawn)


def test_plots_without_matplotlib_say_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run("calibrate model.onnx -o c.npz --data samples.npz --plot plots") == 2
    assert "pip install 'ort-vitis-plugin[plot]'" in capsys.readouterr().err


def test_module_runs_as_a_program(folder: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "ort_vitis_plugin", "explain", "MinMSE"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "ort_vitis_pow2" in answer.stdout
