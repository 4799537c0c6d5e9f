"""FastFinetune as an option, a flag and a preset: what it gains, what it refuses, what it says."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnxruntime.quantization import QuantType

from ort_vitis_finetune.finetuned import Finetuned
from ort_vitis_plugin import VitisQuantFormat, quantize_static
from ort_vitis_plugin.cli.main import main
from ort_vitis_plugin.errors import CalibrationError, OptionError, UnsupportedError
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.models import networks
from tests.plugins.ort_vitis_finetune.test_bias_correction import convolution, gemm, samples, with_options
from tests.zoo.configurations import CPU, CPU_PER_CHANNEL, NPU_CNN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnx import ModelProto

    from ort_vitis_plugin.report.report import Result

    Graphs = Callable[..., ModelProto]
    Feeds = list[dict[str, np.ndarray[Any, Any]]]

FEW: dict[str, Any] = {"Columns": 512}


def error(model: ModelProto, result: Result, feeds: Feeds) -> float:
    """|f - q|^2 / |f|^2."""
    one, other = open_session(model), open_session(result.model)
    pairs = [(one.run(None, feed)[0], other.run(None, feed)[0]) for feed in feeds]
    return sum(float(((f - q) ** 2).sum()) for f, q in pairs) / sum(float((f**2).sum()) for f, _ in pairs)


def unseen(model: ModelProto) -> Feeds:
    draw = np.random.default_rng(17)
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    return [{"x": draw.uniform(2, 3, shape).astype(np.float32)} for _ in range(8)]


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "NPU": NPU_CNN,
    "CPU": CPU,
    "CPU, per channel": CPU_PER_CHANNEL,
    "Vitis QDQ": {**NPU_CNN, "quant_format": VitisQuantFormat.QDQ},
    "FixNeuron": {
        **NPU_CNN,
        "quant_format": VitisQuantFormat.FixNeuron,
        "activation_type": QuantType.QInt8,
    },
    "4-bit weights": {**CPU, "weight_type": QuantType.QInt4},
    "BFP16": {"extra_options": {"Preset": "BFP16"}},
    "MX6": {"extra_options": {"Preset": "MX6"}},
    "MXINT8": {"extra_options": {"Preset": "MXINT8"}},
}


@pytest.mark.parametrize("key", CONFIGURATIONS)
def test_layers_come_nearer_to_float_on_samples_that_nobody_saw(key: str) -> None:
    model = convolution(1, large_input=CONFIGURATIONS[key].get("per_channel", False))
    plain, tuned = (
        quantize_static(model, None, samples(model), **with_options(CONFIGURATIONS[key], Recipe="plain", **options))
        for options in ({}, {"FastFinetune": FEW})
    )
    assert tuned.report.transforms["FastFinetune"] == 1
    assert error(model, tuned, unseen(model)) < error(model, plain, unseen(model))
    assert not tuned.report.violations
    assert any(note.startswith("FastFinetune: of 1 layers 1 by") for note in tuned.report.notes)


def test_two_runs_give_the_same_bytes_and_a_result_file_is_used_again(tmp_path: Path) -> None:
    model = gemm()
    asked = with_options(NPU_CNN, FastFinetune={**FEW, "ResultFile": str(tmp_path / "result.npz")})
    one, other = (quantize_static(model, None, samples(model), **asked) for _ in range(2))
    assert one.model.SerializeToString() == other.model.SerializeToString()
    assert not any("as the result file says" in note for note in one.report.notes)
    assert any("as the result file says" in note for note in other.report.notes)


def test_a_file_of_something_else_is_refused_before_any_work(tmp_path: Path) -> None:
    class NeverRead:
        def get_next(self) -> Any:
            raise AssertionError("work began")

    path = tmp_path / "mine.npz"
    np.savez(path, x=np.zeros(3))
    before = path.read_bytes()
    asked = with_options(NPU_CNN, FastFinetune={"ResultFile": str(path)})
    with pytest.raises(CalibrationError, match="is no ResultFile of FastFinetune"):
        quantize_static(gemm(), None, NeverRead(), **asked)
    assert path.read_bytes() == before


def test_bias_alone_leaves_weights_where_they_are() -> None:
    model = convolution(1)
    asked = with_options(NPU_CNN, FastFinetune={"OptimAlgorithm": "bias"}, WeightRange="method")
    tuned = quantize_static(model, None, samples(model), **asked)
    plain = quantize_static(model, None, samples(model), **with_options(NPU_CNN, Recipe="plain"))
    codes = [next(t.raw_data for t in m.model.graph.initializer if t.name == "w_quantized") for m in (tuned, plain)]
    assert codes[0] == codes[1]
    assert any("1 by bias" in note for note in tuned.report.notes)


@pytest.mark.parametrize("algorithm", ["adaround", "AdaQuant"])
def test_what_trains_needs_torch_and_says_how_to_get_it(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    asked = with_options(NPU_CNN, FastFinetune={"OptimAlgorithm": algorithm})
    with pytest.raises(UnsupportedError, match=r"pip install .*\[torch\].*hessian needs nothing but numpy"):
        quantize_static(gemm(), None, samples(gemm()), **asked)


def test_weights_keep_to_the_bits_that_they_are_given() -> None:
    model = convolution(1)
    asked = with_options(CPU, FastFinetune={**FEW, "WeightBits": 6}, WeightRange="method", Recipe="plain")
    tuned = quantize_static(model, None, samples(model), **asked)
    codes = next(onnx.numpy_helper.to_array(t) for t in tuned.model.graph.initializer if t.name == "w_quantized")
    assert codes.dtype == np.int8
    assert -32 <= codes.min() <= codes.max() < 32


def test_random_data_are_refused_before_any_work() -> None:
    with pytest.raises(CalibrationError, match="tune the network to noise; give at least 4 samples, 32 are enough"):
        quantize_static(gemm(), None, None, **with_options(NPU_CNN, FastFinetune=True))


def test_too_few_samples_are_an_error_that_says_how_many_would_do() -> None:
    with pytest.raises(CalibrationError, match="3 samples are too few"):
        quantize_static(gemm(), None, samples(gemm())[:3], **with_options(NPU_CNN, FastFinetune=True))


def test_a_misspelt_key_is_an_error() -> None:
    with pytest.raises(OptionError, match="did you mean DataSize"):
        quantize_static(gemm(), None, samples(gemm()), **with_options(NPU_CNN, FastFinetune={"DataSizes": 3}))


def test_the_flag_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(gemm(), "m.onnx")
    np.savez("samples.npz", x=np.concatenate([feed["x"] for feed in samples(gemm())]))
    assert (
        main(
            [
                "quantize",
                "m.onnx",
                "-o",
                "q.onnx",
                "--data",
                "samples.npz",
                "--preset",
                "ipu_cnn",
                "--finetune",
                "--json",
                "report.json",
                "-q",
            ]
        )
        == 0
    )
    assert '"FastFinetune": 1' in (tmp_path / "report.json").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "before"), [("XINT8_BEST", "ipu_cnn"), ("A8W4", "A8W4")])
def test_presets_gain_decibels_on_unseen_digits(preset: str, before: str) -> None:
    digits = networks.digits("digits", 32, 200)
    exact = networks.logits(open_session(onnx.load(networks.network("digits"))), digits.evaluation)
    found = []
    for options in ({"Preset": before, "FastFinetune": False, "Recipe": "plain"}, {"Preset": preset}):
        result = quantize_static(networks.network("digits"), None, networks.reader("digits", 32), extra_options=options)
        found.append(networks.sqnr(exact, networks.logits(open_session(result.model), digits.evaluation)))
    assert found[1] > found[0] + 2.0, found


def test_a_weight_moves_to_a_finer_position_where_others_can_take_its_excess(graph: Graphs) -> None:
    """Neighbours of the one large weight see much the same input: at half the step they carry what is clipped of it."""
    draw = np.random.default_rng(0)
    w = draw.uniform(-0.3, 0.3, (32, 4)).astype(np.float32)
    w[0] = 1.24
    model = graph("net (float[1, 32] x) => (float[1, 4] y) { y = Gemm(x, w, b) }", constants={"w": w, "b": w[1]})
    feeds = [{"x": (draw.normal(size=(1, 1)) + 0.3 * draw.normal(size=(1, 32))).astype(np.float32)} for _ in range(64)]
    options = {"Preset": "A8W4", "Recipe": "plain"}
    plain, tuned = (
        quantize_static(model, None, feeds, extra_options={**options, "FastFinetune": asked}) for asked in (None, FEW)
    )
    one, other = (
        {tensor.name: numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer}["w_scale"]
        for result in (plain, tuned)
    )
    assert other == one / 2
    assert not tuned.report.violations
    assert any("1 with weights at another position" in note for note in tuned.report.notes)


def test_where_nothing_is_confirmed_all_samples_that_do_not_judge_teach_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ort_vitis_finetune.finetune_plan.finetuned_plan", lambda *_, **__: Finetuned())
    taught: list[int] = []
    monkeypatch.setattr(
        "ort_vitis_finetune.bias_correction.finetuned_plan",
        lambda _plan, _graph, feeds, *_, **__: taught.append(len(feeds)) or Finetuned(),
    )
    model = convolution(1)
    feeds = [*samples(model)] * 3
    for asked in (None, True):
        quantize_static(model, None, feeds, **with_options(NPU_CNN, FastFinetune=asked))
    assert taught == [12, len(feeds) - min(len(feeds) // 3, 16)]
