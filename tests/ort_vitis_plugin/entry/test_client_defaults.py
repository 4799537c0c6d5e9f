"""Configurations of clients that spell out onnxruntime's defaults get what the target that they name is for."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto
from onnxruntime.quantization import QuantFormat, QuantType, quantize, quantize_static

import ort_vitis_plugin as vitis
from ort_vitis_plugin.options.options import OptionWarning
from ort_vitis_plugin.testing import graph, random_feeds

RNG = np.random.default_rng(0)


class Reader(vitis.CalibrationDataReader):  # type: ignore[misc]
    """Random samples, each once."""

    def __init__(self, model: ModelProto) -> None:
        self.rest = iter([random_feeds(model)] * 2)

    def get_next(self) -> dict[str, Any] | None:
        return next(self.rest, None)


def network() -> ModelProto:
    """A Conv, and what the transformer target leaves float."""
    values = {
        "w": RNG.standard_normal((4, 3, 3, 3)).astype(np.float32),
        "b": np.zeros(4, np.float32),
        "k": RNG.standard_normal((16, 8)).astype(np.float32),
    }
    body = "c = Conv(x, w, b) r = Relu(c) f = Flatten(r) m = MatMul(f, k) s = Softmax(m) y = Add(m, s)"
    return graph(f"t (float[1, 3, 4, 4] x) => (float[1, 8] y) {{ {body} }}", 17, values)


def quantized_types() -> set[str]:
    """Op types that the last call quantized."""
    report = vitis.last_report()
    assert report is not None
    return set(report.quantized.values())


def every_default(model: ModelProto, **extra: Any) -> dict[str, Any]:
    """What Olive writes into a call."""
    return {
        "quant_format": QuantFormat.QDQ,
        "op_types_to_quantize": sorted({node.op_type for node in model.graph.node}),
        "activation_type": QuantType.QInt8,
        "weight_type": QuantType.QInt8,
        "extra_options": {
            "ActivationSymmetric": False,
            "WeightSymmetric": None,
            "MinimumRealRange": None,
            "TensorQuantOverrides": {},
            "QDQKeepRemovableActivations": False,
            **extra,
        },
    }


@pytest.mark.parametrize("target", ["ipu_cnn", "ipu_transformer"])
def test_the_target_holds_and_one_warning_says_so(target: str, tmp_path: Path) -> None:
    model = network()
    with pytest.warns(OptionWarning) as seen:
        quantize_static(model, tmp_path / "q.onnx", Reader(model), **every_default(model, Target=target))
    (text,) = (str(each.message) for each in seen)
    assert f"the target {target} goes before" in text
    if target == "ipu_cnn":
        assert "ActivationSymmetric=False (ActivationSymmetric=True holds)" in text
        zeros = [t for t in onnx.load(str(tmp_path / "q.onnx")).graph.initializer if t.name.endswith("_zero_point")]
        assert zeros
        assert all(not onnx.numpy_helper.to_array(tensor).any() for tensor in zeros)
    else:
        assert "every op type of the model" in text
        assert quantized_types() == {"Conv", "MatMul"}


@pytest.mark.skipif(not hasattr(__import__("onnxruntime.quantization").quantization, "get_qdq_config"), reason="1.20")
@pytest.mark.parametrize("target", ["ipu_cnn", "ipu_transformer"])
def test_the_configuration_that_onnxruntime_writes(target: str, tmp_path: Path) -> None:
    from onnxruntime.quantization import get_qdq_config

    model = network()
    onnx.save(model, tmp_path / "m.onnx")
    config = get_qdq_config(str(tmp_path / "m.onnx"), Reader(model), extra_options={"Target": target})
    with pytest.warns(OptionWarning, match=target):
        quantize(str(tmp_path / "m.onnx"), str(tmp_path / "q.onnx"), config)
    assert "MatMul" in quantized_types()


def test_at_our_door_they_are_what_the_caller_said(tmp_path: Path) -> None:
    model = network()
    with pytest.raises(vitis.errors.UnsupportedError, match="ActivationSymmetric=False"):
        vitis.quantize_static(model, None, Reader(model), **every_default(model, Target="ipu_cnn"))


UNTOUCHED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a part of the op types": ({"op_types_to_quantize": ["Conv", "Softmax"]}, {"Target": "ipu_transformer"}),
    "no target": ({}, {"Method": "MinMSE"}),
    "another value": ({"op_types_to_quantize": ["Conv"]}, {"Target": "ipu_cnn", "ActivationSymmetric": True}),
}


@pytest.mark.parametrize("case", UNTOUCHED)
def test_what_is_no_default_stays(case: str, tmp_path: Path) -> None:
    model = network()
    arguments, options = UNTOUCHED[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptionWarning)
        quantize_static(model, tmp_path / "q.onnx", Reader(model), **arguments, extra_options=options)
    listed = arguments.get("op_types_to_quantize")
    if listed is not None:
        assert quantized_types() <= set(listed)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({"ActivationType": "QUInt8", "WeightType": "QInt8", "Method": "MinMSE"}, {2, 3}),
        ({"ActivationType": "QInt16", "WeightType": "QInt16", "Format": "VitisQuantFormat.QDQ"}, {5}),
        ({"ActivationType": "QBFloat16", "WeightType": "QBFloat16", "Format": "VitisQuantFormat.QDQ"}, {16}),
        ({"ActivationType": "QFloat16", "WeightType": "QFloat16", "Format": "VitisQuantFormat.QDQ"}, {10}),
    ],
    ids=["8 bits", "16 bits", "bfloat16", "float16"],
)
def test_types_can_be_named_in_a_json_file(options: dict[str, str], kinds: set[int], tmp_path: Path) -> None:
    model = network()
    said = json.loads(json.dumps(options))
    quantize_static(model, tmp_path / "q.onnx", Reader(model), activation_type=QuantType.QUInt8, extra_options=said)
    report = vitis.last_report()
    assert report is not None
    assert report.configuration["activation_type"] == options["ActivationType"]
    assert report.configuration["weight_type"] == options["WeightType"]
    written = onnx.load(str(tmp_path / "q.onnx"))
    assert {t.data_type for t in written.graph.initializer if t.name.endswith("_zero_point")} - {6} <= kinds


def test_a_type_that_nobody_knows_is_named(tmp_path: Path) -> None:
    model = network()
    with pytest.raises(vitis.errors.UnsupportedError, match="activation_type: 'QInt7'"):
        quantize_static(model, tmp_path / "q.onnx", Reader(model), extra_options={"ActivationType": "QInt7"})


@pytest.mark.parametrize(
    ("key", "right"),
    [("target", "Target"), ("EnableDpu", "EnableDPU"), ("enable_dpu", "EnableDPU"), ("MinMSEMod", "MinMSEMode")],
)
def test_a_near_miss_runs_plainly_and_warns(key: str, right: str, tmp_path: Path) -> None:
    model = network()
    with pytest.warns(OptionWarning, match=f"onnxruntime does not know the option {key}.*did you mean {right}"):
        quantize_static(model, tmp_path / "q.onnx", Reader(model), extra_options={key: "ipu_cnn"})
    quantize_static(model, tmp_path / "p.onnx", Reader(model))
    assert (tmp_path / "q.onnx").read_bytes() == (tmp_path / "p.onnx").read_bytes()


def test_keys_of_nobody_pass_in_silence(tmp_path: Path) -> None:
    model = network()
    quantize_static(model, tmp_path / "q.onnx", Reader(model), extra_options={"SomeOtherTool": 1, "Zzz": 2})
