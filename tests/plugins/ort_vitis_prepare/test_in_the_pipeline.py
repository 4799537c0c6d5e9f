"""Each switch, seen from a whole call: on as documented, off when switched off, only for its target."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto

import ort_vitis_plugin as vitis
from ort_vitis_plugin.testing import graph, run_model
from tests.models import networks

V = np.random.default_rng(5).uniform(0.5, 1.5, (4, 4, 3, 3)).astype(np.float32)
N = dict(zip("gomv", np.random.default_rng(6).uniform(0.5, 1.5, (4, 4)).astype(np.float32), strict=True))
CONV = {"w": V}
IMAGE = "float[1, 4, 8, 8] x"


def model(body: str, source: str = IMAGE, outputs: str = "float[] y", **constants: Any) -> ModelProto:
    return graph(f"t ({source}) => ({outputs}) {{ {body} }}", 13, constants)


LISTED = model("y = Conv(x, w)", w=V)
LISTED.graph.input.append(graph("t (float[4, 4, 3, 3] w) => (float[] y) { y = Relu(w) }").graph.input[0])
SQUARES = "s = Mul(h, h) n = ReduceSum(s, axes) r = Sqrt(n) y = Div(h, r)"
INSTANCE = "u = GlobalAveragePool(h) d = Sub(h, u) q = Mul(d, d) v = GlobalAveragePool(q) w2 = Add(v, e) "

SWITCHES: dict[str, tuple[ModelProto, bool, bool]] = {
    "RemoveInputInit": (LISTED, True, False),
    "FoldBatchNorm": (model("h = Conv(x, w) y = BatchNormalization(h, g, o, m, v)", **CONV, **N), True, False),
    "ConvertBNToConv": (model("h = BatchNormalization(x, g, o, m, v) y = Conv(h, w)", **CONV, **N), True, True),
    "ConvertReduceMeanToGlobalAvgPool": (model("h = Conv(x, w) y = ReduceMean<axes = [2, 3]>(h)", **CONV), True, True),
    "SplitLargeKernelPool": (model("y = GlobalAveragePool(x)", "float[1, 4, 32, 32] x"), True, True),
    "ConvertSplitToSlice": (
        model("h = Conv(x, w) y, z = Split<axis = 1>(h)", outputs="float[] y, float[] z", **CONV),
        True,
        True,
    ),
    "FuseL2Norm": (model("h = Conv(x, w) " + SQUARES, **CONV, axes=np.array([1])), False, True),
    "FuseInstanceNorm": (
        model("h = Conv(x, w) " + INSTANCE + "r = Sqrt(w2) y = Div(d, r)", **CONV, e=np.array(0.01, np.float32)),
        False,
        True,
    ),
    "ReplaceClip6Relu": (
        model("h = Conv(x, w) y = Clip(h, a, b)", **CONV, a=np.array(0, np.float32), b=np.array(6, np.float32)),
        False,
        False,
    ),
    "ConvertClipToRelu": (
        model("h = Conv(x, w) y = Clip(h, a, b)", **CONV, a=np.array(0, np.float32), b=np.array(50, np.float32)),
        False,
        True,
    ),
}


def transforms(source: ModelProto, *, enable_dpu: bool = True, **options: Any) -> dict[str, int]:
    """What a call reports to have rewritten."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = vitis.quantize_static(
            source, None, None, enable_dpu=enable_dpu, optimize_model=False, print_summary=False, extra_options=options
        )
    return result.report.transforms


@pytest.mark.option("ConvertSplitToSlice", "FuseInstanceNorm", "FuseL2Norm", "ConvertClipToRelu", "ReplaceClip6Relu")
@pytest.mark.option("RemoveInputInit", "ConvertBNToConv", "ConvertReduceMeanToGlobalAvgPool", "SplitLargeKernelPool")
@pytest.mark.parametrize("key", SWITCHES)
def test_switch(key: str) -> None:
    source, default, npu_only = SWITCHES[key]
    assert (key in transforms(source)) == default
    assert (key in transforms(source, **{key: not default})) != default
    assert (key in transforms(source, enable_dpu=False, **{key: True})) != npu_only


def test_equalization_is_an_argument() -> None:
    source = model("h = Conv(x, w) r = Relu(h) y = Conv(r, u)", w=V * 9, u=V)
    assert "CrossLayerEqualization" not in transforms(source)
    assert "CrossLayerEqualization" in transforms(source, IncludeCLE=True)


@pytest.mark.option("convert_nchw_to_nhwc")
def test_channels_last() -> None:
    """The caller's NCHW samples and NHWC ones calibrate alike; the result takes NHWC."""
    calibration = networks.digits(calibration=20, evaluation=0).calibration
    moved = [{name: np.moveaxis(array, 1, 3) for name, array in feed.items()} for feed in calibration]
    results = [
        vitis.quantize_static(
            str(networks.network("digits")),
            None,
            networks.FeedReader(feeds),
            enable_dpu=True,
            convert_nchw_to_nhwc=True,
            print_summary=False,
        )
        for feeds in (calibration, moved)
    ]
    shapes = [[dim.dim_value for dim in result.model.graph.input[0].type.tensor_type.shape.dim] for result in results]
    assert shapes == [[1, 8, 8, 1]] * 2
    first, second = (run_model(result.model, moved[0]) for result in results)
    np.testing.assert_array_equal(first["logits"], second["logits"])
    assert any("takes channels last" in note for note in results[0].report.notes)


@pytest.mark.parametrize(
    ("declared", "given"),
    [("N, 3, H, W", (1, 3, 8, 6)), ("1, 3, 3, 3", (1, 3, 3, 3)), ("1, 4, 4, 4", (1, 4, 4, 4))],
    ids=["dynamic", "3x3x3", "4x4x4"],
)
def test_channels_last_where_the_shape_does_not_tell(declared: str, given: tuple[int, ...]) -> None:
    generator = np.random.default_rng(0)
    w = generator.standard_normal((5, given[1], 3, 3)).astype(np.float32)
    source = model("y = Conv<pads = [1, 1, 1, 1]>(x, w)", f"float[{declared}] x", w=w)
    feeds = [{"x": generator.standard_normal(given).astype(np.float32)} for _ in range(3)]
    result = vitis.quantize_static(
        source, None, networks.FeedReader(feeds), enable_dpu=True, convert_nchw_to_nhwc=True, print_summary=False
    )
    assert result.report.sqnr["y"] > 20
    moved = {"x": np.moveaxis(feeds[0]["x"], 1, 3)}
    assert networks.sqnr(run_model(source, feeds[0])["y"], run_model(result.model, moved)["y"]) > 20


@pytest.mark.option("convert_fp16_to_fp32")
def test_float16() -> None:
    source = model("h = Conv(x, w) y = Relu(h)", "float16[1, 4, 8, 8] x", "float16[] y", w=V.astype(np.float16))
    feeds = [{"x": np.random.default_rng(seed).standard_normal((1, 4, 8, 8)).astype(np.float16)} for seed in range(4)]
    result = vitis.quantize_static(
        source, None, networks.FeedReader(feeds), enable_dpu=True, convert_fp16_to_fp32=True, print_summary=False
    )
    kinds = {value.type.tensor_type.elem_type for value in (*result.model.graph.input, *result.model.graph.output)}
    assert kinds == {TensorProto.FLOAT}
    assert "Cast" not in {node.op_type for node in result.model.graph.node}


def accuracy(name: str, **arguments: Any) -> tuple[float, float]:
    """Accuracy on unseen digits in percent, and SQNR of the logits, of the network quantized for the NPU."""
    result = vitis.quantize_static(
        str(networks.network(name)), None, networks.reader(name, 60), enable_dpu=True, print_summary=False, **arguments
    )
    known = networks.digits(name, 0, 300)
    expected = networks.logits(networks.session(networks.network(name)), known.evaluation)
    found = networks.logits(networks.session(result.model.SerializeToString()), known.evaluation)
    return float(np.mean(found.argmax(1) == known.labels)) * 100, networks.sqnr(expected, found)


@pytest.mark.option("include_cle")
@pytest.mark.parametrize("steps", [1, pytest.param(-1, marks=pytest.mark.slow)])
def test_equalization_rescues_a_depthwise_network(steps: int) -> None:
    name = "depthwise_skewed"
    known = networks.digits(name, 0, 300)
    expected = networks.logits(networks.session(networks.network(name)), known.evaluation)
    reference = float(np.mean(expected.argmax(1) == known.labels)) * 100
    plain, _ = accuracy(name)
    equalized, _ = accuracy(name, include_cle=True, extra_options={"CLESteps": steps})
    assert plain < reference - 20
    assert equalized >= reference - 2


@pytest.mark.parametrize("name", ["digits", pytest.param("halves", marks=pytest.mark.slow)])
def test_equalization_harms_no_network(name: str) -> None:
    _, plain = accuracy(name, extra_options={"ReplaceClip6Relu": True})
    _, equalized = accuracy(name, include_cle=True, extra_options={"ReplaceClip6Relu": True})
    assert equalized >= plain - 0.5
