"""onnxruntime's own tools before and after a call work as they do around its own code."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantFormat, QuantType, quantize, registry

from tests.kinds.checks import assert_close, dequantizer, model, nodes, samples, weights
from tests.models.networks import FeedReader

from .both import PLAINLY, compared, decibels, ours, theirs
from .situations import network, recent
from .test_operators import FAITHFUL, U8S8

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("opset", [9, 10, 17])
def test_after_onnxruntimes_preparation(opset: int, tmp_path: Path) -> None:
    from onnxruntime.quantization import quant_pre_process

    bodies = {
        9: "u = Upsample(x, scales) c = Conv(u, w, b) y = Relu(c)",
        10: "c = Conv(x, w, b) y = Clip<min = 0.0, max = 6.0>(c)",
        17: "c = Conv(x, w, b) n = BatchNormalization(c, b, b, b, v) y = Relu(n)",
    }
    side = 14 if opset == 9 else 6
    constants = {"w": weights(1, 4, 4, 3, 3), "b": weights(2, 4), "v": np.ones(4), "scales": np.float32([1, 1, 2, 2])}
    proto = model(
        f"t (float[1, 4, 8, 8] x) => (float[1, 4, {side}, {side}] y) {{ {bodies[opset]} }}",
        {name: value for name, value in constants.items() if f" {name}" in bodies[opset].replace("(", "( ")},
        opset,
    )
    onnx.save(proto, tmp_path / "float.onnx")
    if opset > 9:  # onnx converts no Resize that was an Upsample
        quant_pre_process(tmp_path / "float.onnx", tmp_path / "ready.onnx", skip_symbolic_shape=True)
        ready = onnx.load(tmp_path / "ready.onnx")
        assert decibels(proto, ours(ready, samples(proto), **U8S8), samples(proto)) > FAITHFUL
    assert decibels(proto, ours(proto, **U8S8), samples(proto)) > FAITHFUL


GELU = "d = Div(h, root) e = Erf(d) o = Add(e, one) m = Mul(h, o) y = Mul(m, half)"
NORM = "q = Pow(h, two) s = ReduceMean<axes = [-1], keepdims = 1>(q) r = Sqrt(s) y = Div(h, r)"
SPHERE = "n = ReduceL2<axes = [-1], keepdims = 1>(h) c = Clip(n, tiny) y = Div(h, c)"


@pytest.mark.parametrize("body", [GELU, NORM, SPHERE], ids=["Gelu", "norm", "sphere"])
@pytest.mark.parametrize("prepared", [False, True])
def test_what_qnn_is_prepared_with(body: str, prepared: bool, tmp_path: Path) -> None:
    from onnxruntime.quantization.execution_providers.qnn import qnn_preprocess_model

    constants = {"root": np.sqrt(2.0), "one": 1.0, "half": 0.5, "two": 2.0, "tiny": 1e-12, "k": weights(1, 8, 8)}
    proto = model(
        f"t (float[4, 8] x) => (float[4, 8] y) {{ h = MatMul(x, k) {body} }}",
        {name: value for name, value in constants.items() if name in body or name == "k"},
    )
    onnx.save(proto, tmp_path / "float.onnx")
    ready = proto
    if prepared and qnn_preprocess_model(tmp_path / "float.onnx", tmp_path / "ready.onnx"):
        ready = onnx.load(tmp_path / "ready.onnx")
    assert decibels(proto, ours(ready, samples(proto), **U8S8), samples(proto)) > FAITHFUL - 3


@recent
@pytest.mark.parametrize("kind", [QuantType.QUInt8, QuantType.QUInt16])
def test_configurations_for_qnn(kind: QuantType, tmp_path: Path) -> None:
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

    proto = model(
        """t (float[4, 8] x) => (float[4, 8] y)
        { h = MatMul(x, m) s = Sigmoid(h) t = Tanh(h) a = Add(s, t)
          n = LayerNormalization(a, g, b) y = MatMul(n, m) }""",
        {"m": weights(1, 8, 8), "g": weights(2, 8) + np.float32(1), "b": weights(3, 8)},
        21,
        10,
    )
    onnx.save(proto, tmp_path / "float.onnx")
    for per_channel in (False, True):
        config = get_qnn_qdq_config(
            tmp_path / "float.onnx", FeedReader(samples(proto)), activation_type=kind, per_channel=per_channel
        )
        options = {**config.extra_options, "Target": "cpu", **PLAINLY}
        config.extra_options, config.calibration_data_reader = options, FeedReader(samples(proto))
        quantize(tmp_path / "float.onnx", tmp_path / "ours.onnx", config)
        right = onnx.load(tmp_path / "ours.onnx")
        plain = {key: value for key, value in options.items() if key not in {"Target", *PLAINLY}}
        left = theirs(
            proto, quant_format=QuantFormat.QDQ, activation_type=config.activation_type,
            weight_type=config.weight_type, per_channel=config.per_channel, extra_options=plain,
            op_types_to_quantize=config.op_types_to_quantize, nodes_to_exclude=config.nodes_to_exclude,
        )  # fmt: skip
        assert compared(proto, left, right).is_as_near


@recent
def test_any_configuration(tmp_path: Path) -> None:
    from onnxruntime.quantization import get_qdq_config

    proto = network()
    onnx.save(proto, tmp_path / "float.onnx")
    config = get_qdq_config(
        tmp_path / "float.onnx",
        FeedReader(samples(proto)),
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=lambda graph, node: node.op_type == "Gemm",
        op_types_to_quantize={"Conv", "Gemm", "MatMul"},
    )
    config.extra_options.update({"Target": "cpu", **PLAINLY})
    quantize(tmp_path / "float.onnx", tmp_path / "ours.onnx", config)
    right = onnx.load(tmp_path / "ours.onnx")
    assert "DequantizeLinear" not in {node.op_type for node in nodes(right) if "g" in node.output}
    assert_close(proto, right, FAITHFUL)


def test_the_debugger_finds_every_tensor(tmp_path: Path) -> None:
    from onnxruntime.quantization import qdq_loss_debug as debug

    proto = network()
    for each, name in ((proto, "float"), (ours(proto, **U8S8, per_channel=True), "quantized")):
        onnx.save(each, tmp_path / f"{name}.onnx")
        debug.modify_model_output_intermediate_tensors(str(tmp_path / f"{name}.onnx"), str(tmp_path / f"{name}_.onnx"))
    seen = [
        debug.collect_activations(str(tmp_path / f"{name}_.onnx"), FeedReader(samples(proto)))
        for name in ("float", "quantized")
    ]
    found = debug.create_activation_matching(seen[1], seen[0])
    assert {"x", "r", "d", "g"} <= found.keys()
    errors = debug.compute_activation_error(found)
    assert all(errors[name]["xmodel_err"] > FAITHFUL for name in ("x", "r", "d", "g")), errors
    matched = debug.create_weight_matching(str(tmp_path / "float.onnx"), str(tmp_path / "quantized.onnx"))
    assert {"w", "k", "m"} <= matched.keys()


@recent
def test_the_runner_of_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxruntime.quantization import static_quantize_runner

    proto, folder = network(), tmp_path / "test_data_set_0"
    folder.mkdir()
    onnx.save(proto, tmp_path / "float.onnx")
    (folder / "input_0.pb").write_bytes(onnx.numpy_helper.from_array(samples(proto)[0]["x"], "x").SerializeToString())
    given = ["-i", str(tmp_path / "float.onnx"), "-o", str(tmp_path / "q.onnx"), "--dedicated_qdq_pair"]
    monkeypatch.setattr(sys, "argv", ["runner", *given])
    static_quantize_runner.main()
    assert decibels(proto, onnx.load(tmp_path / "q.onnx"), samples(proto)[:1]) > FAITHFUL


def test_types_that_only_dynamic_quantization_takes_are_not_ours() -> None:
    static = {*registry.QLinearOpsRegistry, *registry.QDQRegistry}
    assert set(registry.IntegerOpsRegistry) - static <= {"Attention", "LSTM"}


def test_a_bias_that_two_read_is_two(tmp_path: Path) -> None:
    right = ours(network(), **U8S8)
    readers = {name for node in nodes(right, "Conv") for name in node.input[2:]}
    assert len(readers) == 2
    for name in readers:
        dequantizer(right, name)
