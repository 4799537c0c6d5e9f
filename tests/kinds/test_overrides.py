"""What the caller states of one tensor acts on it, whatever shares parameters with it or is derived from it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from onnxruntime.quantization import QuantFormat, QuantType

from ort_vitis_plugin.errors import OptionError, UnsupportedError
from tests.thinned import thinned

from .checks import (
    EVERYTHING,
    assert_close,
    constants_of,
    dequantizer,
    model,
    nodes,
    quantized,
    run_at,
    samples,
    stored,
    weights,
)

U16 = {"quant_type": QuantType.QUInt16}
SHARING = {
    "MaxPool": "m = MaxPool<kernel_shape = [2, 2]>(h)",
    "Reshape": "m = Reshape(h, shape)",
    "Flatten": "m = Flatten(h)",
    "Transpose": "m = Transpose<perm = [0, 2, 3, 1]>(h)",
    "Squeeze": "m = Squeeze(h, zero)",
    "Unsqueeze": "m = Unsqueeze(h, zero)",
    "Resize": 'm = Resize<mode = "nearest">(h, , scales)',
    "Gather": "m = Gather<axis = 1>(h, one)",
    "Slice": "m = Slice(h, zero, one, one)",
    "Pad": "m = Pad(h, pads)",
    "Split": "m, n = Split<axis = 1>(h)",
}
CONSTANTS = {
    "w": weights(1, 4, 3, 3, 3),
    "b": weights(2, 4),
    "shape": np.array([4, -1], np.int64),
    "zero": np.array([0], np.int64),
    "one": np.array([1], np.int64),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64),
    "scales": np.float32([1, 1, 2, 2]),
}
STATED: dict[str, dict[str, Any]] = {
    "of what is read": {"h": [U16]},
    "of what is written": {"m": [U16]},
    "of both": {"h": [U16], "m": [U16]},
    "converted on the way in": {"h": [{"quant_type": QuantType.QUInt8, "convert": {**U16, "recv_nodes": {"move"}}}]},
    "converted on the way out": {"m": [{"quant_type": QuantType.QUInt8, "convert": U16}]},
    "a range": {"m": [{"rmin": -16.0, "rmax": 16.0}]},
}


def moving(op_type: str) -> ModelProto:
    text = SHARING[op_type].replace("m", "[move] m", 1) if "," not in SHARING[op_type].split("=")[0] else ""
    text = text or "[move] " + SHARING[op_type]
    source = model(
        f"t (float[1, 3, 6, 6] x) => (float y) {{ h = Conv<pads = [1, 1, 1, 1]>(x, w, b) {text} y = Mul(m, m) }}",
        {name: value for name, value in CONSTANTS.items() if name in text or name in "wb"},
    )
    source.graph.output[0].type.tensor_type.ClearField("shape")
    return source


@pytest.mark.parametrize(("op_type", "what"), thinned(3, SHARING, STATED))
def test_a_type_next_to_what_shares_parameters(op_type: str, what: str) -> None:
    source = moving(op_type)
    result = quantized(source, extra_options={"TensorQuantOverrides": STATED[what]})
    assert_close(source, result, 25.0)


def element_type(result: Any, tensor: str) -> Any:
    return constants_of(result)[dequantizer(result, tensor).input[2]].dtype


def test_a_follower_takes_the_type_in_which_its_node_reads() -> None:
    result = quantized(moving("MaxPool"), extra_options={"TensorQuantOverrides": STATED["converted on the way in"]})
    assert element_type(result, nodes(result, "Mul")[0].input[0]) == np.uint16


@pytest.mark.parametrize("move", ["Identity", "Dropout"])
def test_a_receiver_that_passes_its_input_on_stays_a_receiver(move: str) -> None:
    source = model(
        f"t (float[1, 3, 6, 6] x) => (float[1, 4, 6, 6] y) "
        f"{{ h = Conv<pads = [1, 1, 1, 1]>(x, w, b) [move] m = {move}(h) [last] s = Mul(m, m) y = Add(s, h) }}",
        {"w": CONSTANTS["w"], "b": CONSTANTS["b"]},
    )
    result = quantized(source, extra_options={"TensorQuantOverrides": STATED["converted on the way in"]})
    assert element_type(result, nodes(result, move)[0].input[0]) == np.uint16
    assert element_type(result, nodes(result, "Add")[0].input[1]) == np.uint8


def test_a_range_of_its_own_ends_the_sharing() -> None:
    result = quantized(moving("MaxPool"), extra_options={"TensorQuantOverrides": STATED["a range"]})
    assert np.isclose(constants_of(result)["m_scale"], 32 / 255)
    assert not np.isclose(constants_of(result)["h_scale"], 32 / 255)


CONV = "t (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) { [conv] h = Conv(x, w, b) y = Sigmoid(h) }"


def conv(bias: Any = None) -> ModelProto:
    return model(CONV, {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4) if bias is None else bias})


def test_a_bias_has_scales_for_its_channels() -> None:
    source = conv(np.float32([100.0, 1.0, 0.01, -30.0]))
    stated = [{"axis": 0, "quant_type": QuantType.QInt8}, {}, {}, {}]
    for entries in (stated, stated[:1]):
        result = quantized(source, extra_options={"TensorQuantOverrides": {"b": entries}})
        assert constants_of(result)["b_scale"] == pytest.approx(np.abs([100.0, 1.0, 0.01, -30.0]) / 127, rel=1e-3)
        assert np.abs(stored(result, nodes(result, "Conv")[0].input[2])).min() >= 127


def test_channels_may_be_asymmetric() -> None:
    source = model(CONV, {"w": np.abs(weights(1, 4, 3, 3, 3)) + 0.5, "b": weights(2, 4)})
    options = {"TensorQuantOverrides": {"w": [{"axis": 0, "symmetric": False}]}, "AddQDQPairToWeight": True}
    options["AvoidSaturation"] = False  # no seven bits, whatever the CPU at hand
    result = quantized(source, per_channel=True, extra_options=options)
    assert (constants_of(result)["w_zero_point"] == -128).all()
    assert_close(source, result, 30.0)


def test_an_int32_bias_has_the_scale_of_the_converted_input() -> None:
    source = conv()
    stated = {"x": [{"quant_type": QuantType.QUInt8, "convert": {**U16, "recv_nodes": {"conv"}}}]}
    result = quantized(source, extra_options={"TensorQuantOverrides": stated})
    (node,) = nodes(result, "Conv")
    scales = [float(constants_of(result)[dequantizer(result, name).input[1]]) for name in node.input]
    assert scales[2] == pytest.approx(scales[0] * scales[1], rel=1e-6)
    assert_close(source, result, 30.0)


@pytest.mark.parametrize("method", ["MinMax", "MinMSE"])
def test_convert_acts_at_a_graph_output(method: str) -> None:
    stated = {"y": [{**U16, "convert": {"quant_type": QuantType.QUInt8}}]}
    result = quantized(conv(), calibrate_method=method, extra_options={"TensorQuantOverrides": stated})
    assert element_type(result, "y") == np.uint8
    assert len(nodes(result, "QuantizeLinear")) == 4  # of x and h, and two of y
    run_at(result.model, samples(conv()), EVERYTHING)


@pytest.mark.parametrize(
    ("quant_format", "kind"),
    [(QuantFormat.QDQ, "QInt32"), (QuantFormat.QOperator, "QUInt16"), (QuantFormat.QOperator, "QInt4")],
)
@pytest.mark.parametrize("where", ["itself", "converted"])
def test_a_type_that_the_format_cannot_hold_is_refused_before_work(quant_format: Any, kind: str, where: str) -> None:
    def reader() -> Any:
        raise AssertionError("a sample was read")
        yield

    entry = {"quant_type": kind} if where == "itself" else {"convert": {"quant_type": kind}}
    with pytest.raises(UnsupportedError, match=rf"TensorQuantOverrides\['x'\]: {kind} cannot be written as"):
        quantized(conv(), reader(), quant_format=quant_format, extra_options={"TensorQuantOverrides": {"x": [entry]}})


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ([{"axis": 4}], r"names the axis 4, which a tensor of shape \[4, 3, 3, 3\]"),
        ([{"axis": -5}], r"names the axis -5"),
        ([{"axis": 0}, {}, {}], r"speaks of 3 channels; along the axis 0 the tensor has 4"),
    ],
)
def test_an_impossible_axis_is_refused(stated: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        quantized(conv(), extra_options={"TensorQuantOverrides": {"w": stated}})


def test_types_of_weights_are_onnx_types() -> None:
    result = quantized(conv(), extra_options={"TensorQuantOverrides": {"w": [{"quant_type": QuantType.QInt4}]}})
    assert {t.data_type for t in result.model.graph.initializer if t.name == "w_quantized"} == {TensorProto.INT4}


def test_qnn_mixed_precision_of_onnxruntime(tmp_path: Any) -> None:
    from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config

    source = model(
        "t (float[1, 3, 6, 6] x) => (float[1, 4, 3, 3] y) { [conv] h = Conv<pads = [1, 1, 1, 1]>(x, w, b) "
        "[pool] p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h) [move] y = Reshape(p, shape) }",
        {"w": weights(1, 4, 3, 3, 3), "b": weights(2, 4), "shape": np.array([1, 4, 3, 3], np.int64)},
    )
    path = tmp_path / "float.onnx"
    path.write_bytes(source.SerializeToString())
    feeds = samples(source)
    config = get_qnn_qdq_config(
        path, iter(feeds), QuantType.QUInt16, add_qtype_converts=True, init_overrides={"p": [{**U16}]}
    )
    options = {k: v for k, v in config.extra_options.items() if k == "TensorQuantOverrides"}
    result = quantized(source, feeds, activation_type=QuantType.QUInt8, extra_options=options)
    assert_close(source, result, 25.0)
