"""A format without scale and zero point is one file: its model computes what numpy computes."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pluggy
import pytest
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationMethod

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantType, quantize_static
from ort_vitis_plugin.api import Declaration, QuantizedType, hookimpl, qtype
from ort_vitis_plugin.errors import MissingPluginError, OptionError, UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.plugin.catalog import Catalog
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.testing import LEVELS, check_plugin, graph, run_model
from tests.example_plugin import ort_vitis_block8

Array = NDArray[np.float32]
RNG = np.random.default_rng(0)
W1, B1 = RNG.normal(size=(20, 12)).astype(np.float32), RNG.normal(size=12).astype(np.float32)
W2 = RNG.normal(size=(12, 7)).astype(np.float32) * 40
# Rows of very different sizes: what one scale for a tensor would lose.
FEEDS = [{"x": (RNG.normal(size=(3, 20)) * [[1e-3], [1], [1e3]]).astype(np.float32)} for _ in range(3)]


def block8(values: Array) -> Array:
    """Each eight values in memory order as integers of eight bits times one power of two."""
    flat = np.pad(values.reshape(-1), (0, -values.size % 8)).reshape(-1, 8)
    reach = np.maximum(np.abs(flat).max(axis=1, keepdims=True), np.float32(1e-37))
    step = np.exp2(np.floor(np.log2(reach)) - 6)
    rounded = np.clip(np.rint(flat / step), -127, 127) * step
    return rounded.reshape(-1)[: values.size].reshape(values.shape).astype(np.float32)


def by_numpy(x: Array) -> Array:
    hidden = np.maximum(block8(block8(x) @ block8(W1) + B1), 0)
    return block8(block8(hidden) @ block8(W2))


@pytest.fixture
def block_plugins(plugins: pluggy.PluginManager) -> pluggy.PluginManager:
    plugins.register(ort_vitis_block8)
    return plugins


def model(opset: int = 18) -> onnx.ModelProto:
    text = "t (float[3, 20] x) => (float[3, 7] y) { h = Gemm(x, w1, b1) r = Relu(h) y = MatMul(r, w2) }"
    return graph(text, opset, {"w1": W1, "b1": B1, "w2": W2})


def quantized(source: onnx.ModelProto, manager: pluggy.PluginManager, **arguments: Any) -> Any:
    given: dict[str, Any] = {"activation_type": "QBlock8", "weight_type": "QBlock8", "quant_format": "Block8"}
    given |= {"calibrate_method": CalibrationMethod.MinMax} | arguments
    return quantize_static(source, None, FEEDS, plugins=manager, **given)


def test_the_plugin_declares_what_the_host_takes() -> None:
    assert [declared.key for declared in check_plugin(ort_vitis_block8)] == ["QBlock8", "Block8"]


@pytest.mark.parametrize("opset", [11, 18, 21])
@pytest.mark.parametrize("method", [CalibrationMethod.MinMax, PowerOfTwoMethod.MinMSE], ids=str)
def test_the_model_computes_what_numpy_computes(block_plugins: pluggy.PluginManager, opset: int, method: Any) -> None:
    result = quantized(model(opset), block_plugins, calibrate_method=method).model
    onnx.checker.check_model(result, full_check=True)
    nodes = [node.op_type for node in result.graph.node]
    assert nodes.count("Block8") == 6
    assert sorted(tensor.name for tensor in result.graph.initializer) == ["b1", "w1", "w2"]
    for feed in FEEDS:
        wanted = by_numpy(feed["x"])
        for level in LEVELS:
            found = run_model(result, feed, level)["y"]
            # One step of a block where the sums of Gemm round otherwise; else nothing.
            np.testing.assert_allclose(found, wanted, rtol=0, atol=np.abs(wanted).max() / 60)
            assert np.mean(found == wanted) > 0.9


def test_its_accuracy_is_numpys(block_plugins: pluggy.PluginManager) -> None:
    result = quantized(model(), block_plugins).model
    exact = np.concatenate([run_model(model(), feed, LEVELS[0])["y"] for feed in FEEDS])
    found = np.concatenate([run_model(result, feed, LEVELS[0])["y"] for feed in FEEDS])
    wanted = np.concatenate([by_numpy(feed["x"]) for feed in FEEDS])
    assert sqnr_db(exact, found) == pytest.approx(sqnr_db(exact, wanted), abs=0.1)
    assert sqnr_db(exact, found) > 30


def test_bodies_have_the_definition_too(block_plugins: pluggy.PluginManager) -> None:
    text = """
    t (float[3, 20] x, bool c) => (float[3, 12] y) {
      y = If(c) <
        then_branch = a () => (float[3, 12] p) { p = MatMul(x, w1) },
        else_branch = b () => (float[3, 12] q) { m = MatMul(x, w1) q = Neg(m) }>
    }
    """
    source = graph(text, 18, {"w1": W1})
    feeds = [{"x": feed["x"], "c": np.array(number % 2 == 0)} for number, feed in enumerate(FEEDS)]
    options = {"EnableSubgraph": True}
    result = quantize_static(
        source,
        None,
        feeds,
        quant_format="Block8",
        activation_type="QBlock8",
        weight_type="QBlock8",
        calibrate_method=CalibrationMethod.MinMax,
        plugins=block_plugins,
        extra_options=options,
    ).model
    assert [function.name for function in result.functions] == ["Block8"]
    found = run_model(result, feeds[0], LEVELS[0])["y"]
    np.testing.assert_allclose(found, block8(block8(feeds[0]["x"]) @ block8(W1)), rtol=0, atol=np.abs(found).max() / 60)


def test_other_formats_refuse_the_type(block_plugins: pluggy.PluginManager) -> None:
    with pytest.raises(UnsupportedError, match=r"QBlock8 cannot be written as QuantFormat\.QDQ; use Block8"):
        quantized(model(), block_plugins, quant_format="QDQ")


def test_unknown_types_are_named(block_plugins: pluggy.PluginManager) -> None:
    with pytest.raises(UnsupportedError, match=r"activation_type: .QBlok8.*did you mean QBlock8"):
        quantized(model(), block_plugins, activation_type="QBlok8")


@pytest.mark.parametrize("kind", ["QBlock8", ort_vitis_block8.QBLOCK8, "Q7"], ids=str)
def test_overrides_name_types_too(block_plugins: pluggy.PluginManager, kind: Any) -> None:
    options = {"TensorQuantOverrides": {"x": [{"quant_type": kind}]}}
    if kind == "Q7":
        with pytest.raises(UnsupportedError, match=r"^TensorQuantOverrides\['x'\]: 'Q7' is not a quantization type"):
            quantized(model(), block_plugins, extra_options=options)
    else:
        assert quantized(model(), block_plugins, extra_options=options).report.types["x"] == "QBlock8"


def test_parameters_that_the_type_does_not_have_are_refused(block_plugins: pluggy.PluginManager) -> None:
    options = {"TensorQuantOverrides": {"x": [{"rmin": -1.0, "rmax": 1.0}]}}
    with pytest.raises(OptionError, match=r"\['x'\] states rmax, rmin, but QBlock8 has none"):
        quantized(model(), block_plugins, extra_options=options)


def test_a_plugin_may_give_meaning_to_a_name_of_amds_tools(plugins: pluggy.PluginManager) -> None:
    kind = replace(ort_vitis_block8.QBLOCK8, name="QBFP16")

    class Declares:
        @hookimpl
        def vitis_declare(self) -> Iterator[Declaration]:
            yield QuantizedType(kind, "As Block8.")

    assert Catalog(plugins).qtype("QInt8") == qtype("QInt8")
    without = new_manager(entry_points=False, blocked=("ort_vitis_block",))
    with pytest.raises(
        MissingPluginError, match="no plugin here declares QBFP16: that is the plugin ort_vitis_block's"
    ):
        Catalog(without).qtype(VitisQuantType.QBFP16)
    without.register(Declares())
    catalog = Catalog(without)
    assert catalog.qtype(VitisQuantType.QBFP16) == catalog.qtype(VitisQuantType.QBFP) == catalog.qtype("QBFP16") == kind
