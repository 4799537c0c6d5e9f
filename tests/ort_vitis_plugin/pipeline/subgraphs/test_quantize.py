"""Bodies of If, Loop and Scan: watched in calibration, quantized like graphs of their own."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, helper
from onnxruntime.quantization import CalibrationMethod, QuantFormat, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.errors import CalibrationError, UnknownNameError
from ort_vitis_plugin.graph import subgraphs
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import LEVELS, graph, run_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Feeds = list[dict[str, Any]]


def weights(seed: int, shape: tuple[int, ...] = (4, 4)) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.8, 0.8, shape).astype(np.float32)


def samples(count: int = 6, **others: Any) -> Feeds:
    """Values of x, (2, 4), beside what ``others`` gives for each number."""
    draw = np.random.default_rng(7).standard_normal
    return [
        {"x": draw((2, 4)).astype(np.float32), **{name: np.asarray(of(at)) for name, of in others.items()}}
        for at in range(count)
    ]


def quantized(model: ModelProto, feeds: Feeds, **arguments: Any) -> Any:
    options = {"EnableSubgraph": True, **arguments.pop("extra_options", {})}
    before = model.SerializeToString(deterministic=True)
    result = quantize_static(model, None, feeds, extra_options=options, **arguments)
    assert model.SerializeToString(deterministic=True) == before
    onnx.checker.check_model(result.model, full_check=True)
    return result


def nodes(model: ModelProto) -> Iterator[NodeProto]:
    """All nodes, those of bodies included."""

    def walk(found: Any) -> Iterator[NodeProto]:
        for node in found:
            yield node
            for body in subgraphs(node):
                yield from walk(body.node)

    return walk(model.graph.node)


def bodies(model: ModelProto) -> list[list[str]]:
    """Op types of each body, outer ones first."""
    return [[node.op_type for node in body.node] for owner in nodes(model) for body in subgraphs(owner)]


def sqnr(before: ModelProto, after: ModelProto, feeds: Feeds) -> float:
    """The lesser of both optimization levels."""

    def outputs(model: ModelProto, level: Any) -> np.ndarray:
        return np.concatenate([run_model(model, feed, level)["y"].ravel() for feed in feeds])

    wanted = outputs(before, LEVELS[0])
    return min(sqnr_db(wanted, outputs(after, level)) for level in LEVELS)


def scale_inside(model: ModelProto, tensor: str) -> float:
    """The scale of a tensor of a body."""
    stored = [found for owner in nodes(model) for body in subgraphs(owner) for found in body.initializer]
    (scale,) = [onnx.numpy_helper.to_array(found).item() for found in stored if found.name == f"{tensor}_scale"]
    return float(scale)


LOOP = """
t (float[2,4] x, int64 turns) => (float[2,4] y) {
  s0 = MatMul(x, w0)
  on = Constant <value = bool {1}> ()
  y = Loop <body = turn (int64 i, bool go_on, float[2,4] s) => (bool goes_on, float[2,4] s_out) {
    goes_on = Identity(go_on)
    mm = MatMul(s, wl)
    s_out = Tanh(mm)
  }> (turns, on, s0)
}
"""
TURNS: dict[str, Any] = {"turns": lambda at: np.int64(1 + at % 3)}


def loop(*, local: bool = False, opset: int = 17) -> ModelProto:
    """Tanh(s @ wl), over and over; the weight is captured, or an initializer of the body."""
    model = graph(LOOP, opset, {"w0": weights(1)} | ({} if local else {"wl": weights(2)}))
    if local:
        body = next(body for node in model.graph.node for body in subgraphs(node))
        body.initializer.append(onnx.numpy_helper.from_array(weights(2), "wl"))
    return model


def branches(*, equal_names: bool = False) -> ModelProto:
    """y = MatMul(h, w1) or Sigmoid(MatMul(h, w2)), with h captured."""
    second = "mm" if equal_names else "other"
    text = f"""
    t (float[2,4] x, bool which) => (float[2,4] y) {{
      h = MatMul(x, w0)
      r = Relu(h)
      z = If (which) <
        then_branch = yes () => (float[2,4] t_out) {{
          [first] mm = MatMul(r, w1)
          t_out = Tanh(mm)
        }},
        else_branch = no () => (float[2,4] e_out) {{
          [{"first" if equal_names else "second"}] {second} = MatMul(r, w2)
          e_out = Sigmoid({second})
        }}
      >
      y = Add(z, r)
    }}
    """
    return graph(text, 17, {f"w{at}": weights(at) for at in range(3)})


BOTH: dict[str, Any] = {"which": lambda at: at % 2 == 0}
PAIR = ["QuantizeLinear", "DequantizeLinear"]

# ---------------------------------------------------------------------- what must not change


def test_without_the_option_bodies_stay_as_they_are() -> None:
    result = quantize_static(branches(), None, samples(**BOTH)).model
    assert bodies(result) == [["MatMul", "Tanh"], ["MatMul", "Sigmoid"]]


def test_a_branch_that_never_ran_stays_float_and_says_so() -> None:
    result = quantized(branches(), samples(which=lambda at: True))
    taken, other = bodies(result.model)
    assert "QuantizeLinear" in taken
    assert other == ["MatMul", "Sigmoid"]
    assert "never ran in calibration" in result.report.left_float["second"]
    assert result.report.quantized["first"] == "MatMul"


def test_a_loop_without_turns_stays_float() -> None:
    result = quantized(loop(), samples(turns=lambda at: np.int64(0)))
    assert bodies(result.model) == [["Identity", "MatMul", "Tanh"]]


@pytest.mark.parametrize("excluded", ["first", "if"])
def test_excluded_nodes_and_what_lies_inside_them(excluded: str) -> None:
    model = branches()
    next(node for node in model.graph.node if node.op_type == "If").name = "if"
    result = quantized(model, samples(**BOTH), nodes_to_exclude=[excluded])
    taken, other = bodies(result.model)
    assert "MatMul" in taken
    is_float = [
        all(reader.op_type != "QuantizeLinear" for reader in nodes(result.model) if node.output[0] in reader.input)
        for node in nodes(result.model)
        if node.name == "first"
    ]
    assert is_float == [True]
    assert ("QuantizeLinear" in other) == (excluded == "first")


def test_a_name_that_no_body_has() -> None:
    with pytest.raises(UnknownNameError, match=r"firsd.*did you mean first"):
        quantized(branches(), samples(**BOTH), nodes_to_exclude=["firsd"])


# ---------------------------------------------------------------------- what must change


@pytest.mark.parametrize("local", [False, True], ids=["captured", "local"])
@pytest.mark.parametrize("opset", [13, 17, 21])
def test_a_loop(local: bool, opset: int) -> None:
    model, feeds = loop(local=local, opset=opset), samples(**TURNS)
    result = quantized(model, feeds).model
    (body,) = bodies(result)
    assert body.count("QuantizeLinear") >= 2
    assert sqnr(model, result, feeds) >= 25
    owner = next(node for node in result.graph.node if node.op_type == "Loop")
    stored = {tensor.name: tensor.data_type for body in subgraphs(owner) for tensor in body.initializer}
    assert stored["wl_quantized"] == onnx.TensorProto.INT8
    assert "wl" not in {*stored, *(tensor.name for tensor in result.graph.initializer)}


@pytest.mark.parametrize("equal_names", [False, True], ids=["", "equal names"])
def test_both_branches(equal_names: bool) -> None:
    model, feeds = branches(equal_names=equal_names), samples(**BOTH)
    result = quantized(model, feeds).model
    for body in bodies(result):
        assert body.count("QuantizeLinear") >= 2
    assert sqnr(model, result, feeds) >= 25
    made = [name for node in nodes(result) for name in node.output]
    assert len(made) == len(set(made))


def test_a_captured_tensor_has_the_parameters_of_the_graph_that_makes_it() -> None:
    result = quantized(branches(), samples(**BOTH)).model
    owner = next(node for node in result.graph.node if node.op_type == "If")
    outside = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in result.graph.initializer}
    for body in subgraphs(owner):
        inside = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in body.initializer}
        made = {name for node in body.node for name in node.output}
        (captured,) = [node for node in body.node if node.op_type == "QuantizeLinear" and node.input[0] not in made]
        assert inside[captured.input[1]] == outside["r_scale"]
        assert inside[captured.input[2]] == outside["r_zero_point"]


def test_a_scan() -> None:
    text = """
    t (float[4] start, float[2,4] x) => (float[4] last, float[2,4] y) {
      last, y = Scan <num_scan_inputs = 1, body = turn (float[4] s, float[4] part) => (float[4] s_out, float[4] row) {
        sum = Add(s, part)
        s_out = MatMul(sum, w)
        row = Sigmoid(s_out)
      }> (start, x)
    }
    """
    model = graph(text, 17, {"w": weights(3)})
    feeds = samples(start=lambda at: weights(at, (4,)))
    result = quantized(model, feeds).model
    (body,) = bodies(result)
    assert body.count("QuantizeLinear") >= 4
    assert sqnr(model, result, feeds) >= 25


NESTED = """
t (float[2,4] x, int64 turns, bool which) => (float[2,4] y) {
  h = MatMul(x, w0)
  on = Constant <value = bool {1}> ()
  y = Loop <body = turn (int64 i, bool go_on, float[2,4] s) => (bool goes_on, float[2,4] s_out) {
    goes_on = Identity(go_on)
    mm = MatMul(s, w1)
    s_out = If (which) <
      then_branch = yes () => (float[2,4] a_out) {
        a = MatMul(mm, w2)
        a_out = Tanh(a)
      },
      else_branch = no () => (float[2,4] b_out) {
        b = Add(mm, h)
        b_out = Tanh(b)
      }
    >
  }> (turns, on, h)
}
"""


def test_bodies_in_bodies() -> None:
    model = graph(NESTED, 17, {f"w{at}": weights(at) for at in range(3)})
    feeds = samples(**TURNS, **BOTH)
    result = quantized(model, feeds).model
    outer, *inner = bodies(result)
    assert {"QuantizeLinear", "If"} <= set(outer)
    assert [set(PAIR) <= set(body) for body in inner] == [True, True]
    assert sqnr(model, result, feeds) >= 25


def test_a_tensor_that_grows_with_every_turn() -> None:
    """Shapes that no scan output could collect."""
    text = """
    t (float[2,4] x, int64 turns) => (float[N,4] y) {
      on = Constant <value = bool {1}> ()
      y = Loop <body = turn (int64 i, bool go_on, float[M,4] s) => (bool goes_on, float[K,4] s_out) {
        goes_on = Identity(go_on)
        mm = MatMul(s, w)
        s_out = Concat <axis = 0> (mm, x)
      }> (turns, on, x)
    }
    """
    model, feeds = graph(text, 17, {"w": weights(3)}), samples(**TURNS)
    result = quantized(model, feeds).model
    assert "QuantizeLinear" in bodies(result)[0]
    assert sqnr(model, result, feeds) >= 25


def test_every_turn_counts() -> None:
    """The range of what a loop doubles is that of its last turn."""
    text = """
    t (float[2,4] x, int64 turns) => (float[2,4] y) {
      on = Constant <value = bool {1}> ()
      y = Loop <body = turn (int64 i, bool go_on, float[2,4] s) => (bool goes_on, float[2,4] s_out) {
        goes_on = Identity(go_on)
        s_out = Add(s, s)
      }> (turns, on, x)
    }
    """
    feeds: Feeds = [{"x": np.full((2, 4), 0.9, np.float32), "turns": np.asarray(5)}]
    result = quantized(graph(text), feeds, calibrate_method=CalibrationMethod.MinMax).model
    assert scale_inside(result, "s_out") == pytest.approx(0.9 * 2**5 / 255, rel=1e-5)


FORMATS = [
    (QuantFormat.QDQ, CalibrationMethod.MinMax, QuantType.QUInt8, 25),
    (QuantFormat.QDQ, CalibrationMethod.Percentile, QuantType.QInt8, 20),
    (QuantFormat.QDQ, PowerOfTwoMethod.NonOverflow, QuantType.QInt8, 25),
    (QuantFormat.QOperator, PowerOfTwoMethod.MinMSE, QuantType.QInt8, 25),
    (VitisQuantFormat.QDQ, PowerOfTwoMethod.MinMSE, QuantType.QInt8, 25),
    (VitisQuantFormat.QDQ, PowerOfTwoMethod.MinMSE, VitisQuantType.QInt16, 60),
    (VitisQuantFormat.QDQ, CalibrationMethod.MinMax, VitisQuantType.QBFloat16, 40),
    (VitisQuantFormat.FixNeuron, PowerOfTwoMethod.MinMSE, QuantType.QInt8, 25),
]


@pytest.mark.parametrize(("quant_format", "method", "kind", "least"), FORMATS)
def test_formats_methods_and_types(quant_format: Any, method: Any, kind: Any, least: float) -> None:
    model, feeds = branches(), samples(**BOTH)
    is_wide = isinstance(kind, VitisQuantType)
    result = quantized(
        model,
        feeds,
        quant_format=quant_format,
        calibrate_method=method,
        activation_type=kind,
        weight_type=kind if is_wide else QuantType.QInt8,
        reduce_range=not is_wide,
    ).model
    for body in bodies(result):
        assert set(body) - {"MatMul", "Tanh", "Sigmoid"}
    assert sqnr(model, result, feeds) >= least


def test_the_position_that_most_samples_have() -> None:
    feeds = samples(7, which=lambda at: True)
    feeds[3]["x"] *= 100
    model = branches()
    scales = {
        mode: scale_inside(quantized(model, feeds, extra_options={"MinMSEMode": mode}).model, "mm")
        for mode in ("All", "MostCommon")
    }
    assert scales["MostCommon"] * 16 <= scales["All"]


def test_overrides_reach_bodies() -> None:
    overrides = {
        "mm": [{"scale": np.float32(0.25), "zero_point": np.int8(0)}],
        "r": [{"quant_type": QuantType.QUInt8}],
        "w1": [{"scale": np.float32(0.5), "zero_point": np.int8(0)}],
    }
    result = quantized(branches(), samples(**BOTH), extra_options={"TensorQuantOverrides": overrides}).model
    assert scale_inside(result, "mm") == 0.25
    assert scale_inside(result, "w1") == 0.5
    outside = {tensor.name: tensor for tensor in result.graph.initializer}
    assert outside["r_zero_point"].data_type == onnx.TensorProto.UINT8


def test_constant_nodes_in_bodies_are_weights() -> None:
    model = loop(local=True)
    body = next(body for node in model.graph.node for body in subgraphs(node))
    value = body.initializer.pop()
    body.node.insert(0, helper.make_node("Constant", [], ["wl"], value=value))
    result = quantized(model, samples(**TURNS), optimize_model=False).model
    assert "Constant" not in bodies(result)[0]
    assert sqnr(model, result, samples(**TURNS)) >= 25


def test_infinite_values_inside_are_left_out_and_told() -> None:
    text = """
    t (float[2,4] x, bool which) => (float[2,4] y) {
      h = Relu(x)
      y = If (which) <
        then_branch = yes () => (float[2,4] t_out) {
          quotient = Div(one, h)
          t_out = Min(quotient, one)
        },
        else_branch = no () => (float[2,4] e_out) { e_out = Neg(h) }
      >
    }
    """
    model, feeds = graph(text, 17, {"one": np.ones((), np.float32)}), samples(**BOTH)
    ops = {"op_types_to_quantize": ["Div", "Min", "Relu"], "calibrate_method": CalibrationMethod.MinMax}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = quantized(model, feeds, extra_options={"SelfCheck": False}, **ops).report
    assert any(key.startswith("quotient in sample 0") for key in report.non_finite)
    with pytest.raises(CalibrationError, match=r"sample 0.*Inf.*quotient"):
        quantized(model, feeds, extra_options={"NonFiniteSamples": "error"}, **ops)


def test_a_cache_holds_what_bodies_computed(tmp_path: Path) -> None:
    model, feeds, cache = branches(), samples(**BOTH), str(tmp_path / "cache")
    first = quantized(model, feeds, extra_options={"CalibrationCache": cache}).model
    second = quantized(model, feeds[:1], extra_options={"CalibrationCache": cache}).model
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)


def test_a_cache_made_without_bodies_is_refused(tmp_path: Path) -> None:
    model, feeds, cache = branches(), samples(**BOTH), str(tmp_path / "cache")
    quantize_static(model, None, feeds, extra_options={"CalibrationCache": cache})
    with pytest.raises(CalibrationError, match="another model"):
        quantized(model, feeds, extra_options={"CalibrationCache": cache})
