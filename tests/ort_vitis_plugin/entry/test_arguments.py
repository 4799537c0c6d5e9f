"""Arguments and plain options of the manual, each seen in the written model: ignored, its test fails."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import ort_vitis_plugin as vitis
from ort_vitis_plugin.entry.arguments import is_ours, request_from_ort
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.testing import graph, op_types, random_feeds

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


CONSTANTS = {
    "w": normal(4, 3, 3, 3) * np.float32([1, 3, 9, 27]).reshape(4, 1, 1, 1),
    "b": normal(4),
    "v": normal(4, 4, 1, 1),
}
CNN = graph(
    """t (float[1, 3, 8, 8] x) => (float[1, 4, 3, 3] y) {
        [c1] h = Conv(x, w, b)
        [r1] r = Relu(h)
        [p1] p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
        [c2] y = Conv(p, v)
    }""",
    constants=CONSTANTS,
)
MATMUL = graph(
    """t (float[1, 4, 6] x, float[1, 6, 4] z) => (float[1, 4, 5] y) {
        [m1] h = MatMul(x, z)
        [m2] y = MatMul(h, w)
    }""",
    constants={"w": normal(4, 5)},
)


def samples(model: onnx.ModelProto, count: int = 4) -> list[dict[str, Any]]:
    return [random_feeds(model, seed) for seed in range(count)]


def quantize(model: onnx.ModelProto, feeds: Any = None, **arguments: Any) -> vitis.Result:
    return vitis.quantize_static(model, None, samples(model) if feeds is None else feeds, **arguments)


def arrays(result: vitis.Result) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in result.model.graph.initializer}


def pairs(result: vitis.Result) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{float tensor: (scale, zero point)} of activations."""
    known = arrays(result)
    return {
        node.input[0]: (known[node.input[1]], known[node.input[2]])
        for node in result.model.graph.node
        if node.op_type.endswith("QuantizeLinear") and node.op_type[0] != "D" and node.input[0] not in known
    }


def float_nodes(result: vitis.Result) -> set[str]:
    return set(result.report.left_float)


@pytest.mark.option("quant_format")
@pytest.mark.parametrize(
    ("quant_format", "op_type"),
    [
        (vitis.QuantFormat.QDQ, "QuantizeLinear"),
        (vitis.QuantFormat.QOperator, "QLinearConv"),
        (vitis.VitisQuantFormat.QDQ, "VitisQuantizeLinear"),
        (vitis.VitisQuantFormat.FixNeuron, "FixNeuron"),
    ],
)
def test_format(quant_format: Any, op_type: str) -> None:
    assert op_type in op_types(quantize(CNN, quant_format=quant_format).model)


def scale_of_x(feeds: Any, method: Any) -> float:
    return float(pairs(quantize(CNN, feeds, calibrate_method=method))["x"][0])


@pytest.mark.option("calibrate_method")
def test_power_of_two_methods_cover_or_clip() -> None:
    feeds = [{"x": np.linspace(-4, 4, 192, dtype=np.float32).reshape(1, 3, 8, 8)} for _ in range(8)]
    feeds[0]["x"][0, 0, 0, 0] = 12.2  # 16.2 wide: a little more than 255 / 16
    covering, nearest = (scale_of_x(feeds, method) for method in vitis.PowerOfTwoMethod)
    assert (covering, nearest) == (2.0**-3, 2.0**-4)


@pytest.mark.option("calibrate_method")
def test_float_methods_differ_by_what_they_clip() -> None:
    feeds = samples(CNN, 8)
    feeds[0]["x"][0, 0, 0, 0] = 40.0
    low, high = (float(pick([pick(feed["x"]) for feed in feeds])) for pick in (np.min, np.max))
    methods = vitis.CalibrationMethod
    assert scale_of_x(feeds, methods.MinMax) == pytest.approx((high - low) / 255, rel=1e-3)
    assert scale_of_x(feeds, methods.Percentile) < scale_of_x(feeds, methods.MinMax)


@pytest.mark.option("input_nodes")
def test_before_input_nodes_stays_float() -> None:
    assert float_nodes(quantize(CNN)) == set()
    assert float_nodes(quantize(CNN, input_nodes=["p1"])) == {"c1", "r1"}


@pytest.mark.option("output_nodes")
def test_after_output_nodes_stays_float() -> None:
    assert float_nodes(quantize(CNN, output_nodes=["r1"])) == {"p1", "c2"}


@pytest.mark.option("op_types_to_quantize")
def test_only_these_op_types() -> None:
    assert float_nodes(quantize(CNN, op_types_to_quantize=["Conv"])) == {"r1", "p1"}


@pytest.mark.option("nodes_to_quantize")
def test_only_these_nodes() -> None:
    assert float_nodes(quantize(CNN, nodes_to_quantize=["c1"])) == {"r1", "p1", "c2"}


@pytest.mark.option("nodes_to_exclude")
def test_not_these_nodes() -> None:
    assert float_nodes(quantize(CNN, nodes_to_exclude=["c2"])) == {"c2"}


@pytest.mark.option("per_channel")
def test_a_scale_for_each_channel() -> None:
    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax}
    one, four = (arrays(quantize(CNN, per_channel=flag, **floats))["w_scale"] for flag in (False, True))
    assert (one.shape, four.shape) == ((), (4,))
    assert four.min() < four.max() / 5


@pytest.mark.option("reduce_range")
def test_weights_of_seven_bits() -> None:
    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax}
    full, reduced = (
        np.abs(arrays(quantize(CNN, reduce_range=flag, **floats))["w_quantized"].astype(int)).max()
        for flag in (False, True)
    )
    assert full == 127
    assert reduced == 64 or reduced == 63


@pytest.mark.option("activation_type", "weight_type")
@pytest.mark.parametrize(
    ("activation", "weight"),
    [(vitis.QuantType.QUInt8, vitis.QuantType.QInt8), (vitis.QuantType.QInt8, vitis.QuantType.QUInt8)],
)
def test_types(activation: Any, weight: Any) -> None:
    result = quantize(CNN, activation_type=activation, weight_type=weight)
    names = {vitis.QuantType.QUInt8: "uint8", vitis.QuantType.QInt8: "int8"}
    assert {str(zero.dtype) for _, zero in pairs(result).values()} == {names[activation]}
    assert str(arrays(result)["w_quantized"].dtype) == names[weight]


@pytest.mark.option("optimize_model")
def test_optimization_can_be_skipped() -> None:
    constants = {"v": normal(4, 4, 1, 1), "k": normal(4, 1, 1)}
    model = graph("t (float[1, 4, 8, 8] x) => (float[] y) { h = Conv(x, v) y = Add(h, k) }", constants=constants)
    assert "Add" not in op_types(quantize(model).model)
    assert "Add" in op_types(quantize(model, optimize_model=False).model)


@pytest.mark.option("execution_providers")
def test_calibration_runs_on_the_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    import onnxruntime

    asked: list[Any] = []
    original = onnxruntime.InferenceSession.__init__

    def watched(self: Any, *positional: Any, **named: Any) -> None:
        asked.append(named.get("providers"))
        original(self, *positional, **named)

    monkeypatch.setattr(onnxruntime.InferenceSession, "__init__", watched)
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})]
    quantize(CNN, execution_providers=providers)
    assert any(list(entry or ()) == providers for entry in asked)


@pytest.mark.option("enable_dpu")
def test_npu_biases_are_eight_bit_and_scales_powers_of_two() -> None:
    npu, plain = (arrays(quantize(CNN, enable_dpu=flag)) for flag in (True, False))
    assert (npu["b_quantized"].dtype, plain["b_quantized"].dtype) == (np.int8, np.int32)


@pytest.mark.option("extra_options", "ActivationSymmetric")
def test_symmetric_activations() -> None:
    for flag in (False, True):
        feeds = [{"x": np.abs(feed["x"]) + 1} for feed in samples(CNN)]
        _, zero = pairs(quantize(CNN, feeds, extra_options={"ActivationSymmetric": flag}))["x"]
        assert (int(zero) == 0) == flag


@pytest.mark.option("WeightSymmetric")
def test_asymmetric_weights() -> None:
    model = graph(
        "t (float[1, 3, 8, 8] x) => (float[1, 4, 6, 6] y) { y = Conv(x, w) }",
        constants={"w": np.abs(normal(4, 3, 3, 3))},
    )
    for flag in (True, False):
        result = quantize(
            model, calibrate_method=vitis.CalibrationMethod.MinMax, extra_options={"WeightSymmetric": flag}
        )
        assert (int(arrays(result)["w_zero_point"]) == 0) == flag


@pytest.mark.option("UseUnsignedReLU")
def test_relu_outputs_from_zero_up() -> None:
    zeros = []
    for flag in (False, True):
        options = {"ActivationSymmetric": True, "UseUnsignedReLU": flag}
        result = quantize(CNN, activation_type=vitis.QuantType.QUInt8, extra_options=options)
        zeros.append({name: int(zero) for name, (_, zero) in pairs(result).items()})
    assert zeros[0]["x"] == zeros[1]["x"] == 128
    changed = {name: zero for name, zero in zeros[1].items() if zero != zeros[0][name]}
    assert changed
    assert set(changed.values()) == {0}


@pytest.mark.option("QuantizeBias")
def test_biases_stay_float() -> None:
    assert "b_quantized" in arrays(quantize(CNN))
    kept = arrays(quantize(CNN, extra_options={"QuantizeBias": False}))
    np.testing.assert_array_equal(kept["b"], CONSTANTS["b"])


@pytest.mark.option("ForceQuantizeNoInputCheck")
def test_latent_operators_are_forced() -> None:
    model = graph(
        "t (float[1, 3, 4] x) => (float[1, 4, 3] y) { [a] h = Abs(x) [t] y = Transpose<perm = [0, 2, 1]>(h) }"
    )
    for flag in (False, True):
        result = quantize(
            model,
            quant_format=vitis.QuantFormat.QOperator,
            extra_options={"ForceQuantizeNoInputCheck": flag},
        )
        transpose = next(node for node in result.model.graph.node if node.op_type == "Transpose")
        producer = Graph(result.model).producer(transpose.input[0])
        assert producer is not None
        assert (producer.op_type != "Abs") == flag


@pytest.mark.option("MatMulConstBOnly")
def test_products_of_two_activations_stay_float() -> None:
    assert float_nodes(quantize(MATMUL)) == set()
    assert float_nodes(quantize(MATMUL, extra_options={"MatMulConstBOnly": True})) == {"m1"}


@pytest.mark.option("AddQDQPairToWeight")
def test_weights_stay_float_behind_a_pair() -> None:
    for flag in (False, True):
        result = quantize(CNN, extra_options={"AddQDQPairToWeight": flag})
        readers = [node.op_type for node in result.model.graph.node if "w" in node.input]
        assert readers == (["QuantizeLinear"] if flag else [])
        assert ("w_quantized" in arrays(result)) != flag


@pytest.mark.option("OpTypesToExcludeOutputQuantization")
def test_outputs_of_op_types_stay_float() -> None:
    for kept in ([], ["Conv"]):
        result = quantize(CNN, extra_options={"OpTypesToExcludeOutputQuantization": kept})
        producer = Graph(result.model).producer("y")
        assert producer is not None
        assert producer.op_type == ("Conv" if kept else "DequantizeLinear")


@pytest.mark.option("DedicatedQDQPair")
def test_each_reader_has_a_pair_of_its_own() -> None:
    model = graph(
        "t (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y, float[1, 4, 8, 8] z) { y = Conv(x, v) z = Conv(x, v) }",
        constants={"v": normal(4, 4, 1, 1)},
    )
    for flag, expected in ((False, 1), (True, 2)):
        result = quantize(model, extra_options={"DedicatedQDQPair": flag})
        assert sum("x" in node.input for node in result.model.graph.node) == expected


@pytest.mark.option("QDQOpTypePerChannelSupportToAxis")
def test_the_axis_of_channels() -> None:
    model = graph("t (float[1, 4] x) => (float[1, 5] y) { y = MatMul(x, w) }", constants={"w": normal(4, 5)})
    sizes = [
        arrays(
            quantize(
                model,
                per_channel=True,
                calibrate_method=vitis.CalibrationMethod.MinMax,
                # onnxruntime 1.20.1 has no integer kernel for channels along axis 0.
                extra_options={"QDQOpTypePerChannelSupportToAxis": {"MatMul": axis}, "SelfCheck": False},
            )
        )["w_scale"].size
        for axis in (0, 1)
    ]
    assert sizes == [4, 5]


@pytest.mark.option("UseQDQVitisCustomOps")
@pytest.mark.parametrize(("flag", "domain"), [(True, "com.vai.quantize"), (False, "ai.onnx.contrib")])
def test_the_domain_of_eight_bit_pairs(flag: bool, domain: str) -> None:
    result = quantize(CNN, quant_format=vitis.VitisQuantFormat.QDQ, extra_options={"UseQDQVitisCustomOps": flag})
    quantizers = [node for node in result.model.graph.node if node.op_type.endswith("QuantizeLinear")]
    eight_bit = {node.domain for node in quantizers if "Dequantize" not in node.op_type and node.input[0] != "b"}
    assert eight_bit == {domain}


SKEWED = [{"x": np.abs(feed["x"])} for feed in samples(CNN)]


@pytest.mark.option("CalibTensorRangeSymmetric")
def test_ranges_around_zero() -> None:
    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax, "activation_type": vitis.QuantType.QUInt8}
    zeros = [
        int(pairs(quantize(CNN, SKEWED, extra_options={"CalibTensorRangeSymmetric": flag}, **floats))["x"][1])
        for flag in (False, True)
    ]
    assert zeros[0] == 0
    assert zeros[1] in (127, 128)


def range_of_ramp(**options: Any) -> float:
    """The scale of x over samples that grow from 1 to 4."""
    feeds = [{"x": np.full((1, 3, 8, 8), level, np.float32)} for level in (1, 2, 3, 4)]
    return float(
        pairs(quantize(CNN, feeds, calibrate_method=vitis.CalibrationMethod.MinMax, extra_options=options))["x"][0]
    )


@pytest.mark.option("CalibMovingAverage")
def test_moving_average_forgets_extremes() -> None:
    assert range_of_ramp() == pytest.approx(4 / 255, rel=0.01)
    assert range_of_ramp(CalibMovingAverage=True) < 2 / 255


@pytest.mark.option("CalibMovingAverageConstant")
def test_the_constant_weighs_the_newest() -> None:
    """max <- c * newest + (1 - c) * max, from the first sample on."""
    level = 1.0
    for newest in (2, 3, 4):
        level = 0.5 * newest + 0.5 * level
    assert range_of_ramp(CalibMovingAverage=True, CalibMovingAverageConstant=0.5) == pytest.approx(
        level / 255, rel=0.01
    )


@pytest.mark.option("Int16Scale")
def test_scales_are_m_over_two_to_the_n() -> None:
    def mantissa_bits(scale: float) -> int:
        mantissa, bits = float(np.frexp(scale)[0]), 0
        while mantissa != int(mantissa):
            mantissa, bits = mantissa * 2, bits + 1
        return bits

    floats = {"calibrate_method": vitis.CalibrationMethod.MinMax}
    plain, held = (
        [float(scale) for scale, _ in pairs(quantize(CNN, extra_options={"Int16Scale": flag}, **floats)).values()]
        for flag in (False, True)
    )
    assert max(map(mantissa_bits, plain)) > 16
    assert max(map(mantissa_bits, held)) <= 16
    np.testing.assert_allclose(held, plain, rtol=2**-15, atol=2**-16)  # N ends at 15


@pytest.mark.option("MinMSEMode")
def test_most_common_position_of_the_samples() -> None:
    """Three small samples outvote one large one, whose error counts most when all are taken together."""
    levels = (0.9, 0.9, 0.9, 100.0)
    ramp = np.linspace(-1, 1, 192, dtype=np.float32).reshape(1, 3, 8, 8)
    feeds = [{"x": ramp * np.float32(level)} for level in levels]
    scales = {
        mode: float(pairs(quantize(CNN, feeds, extra_options={"MinMSEMode": mode}))["x"][0])
        for mode in ("All", "MostCommon")
    }
    assert scales["MostCommon"] == 2.0**-7
    assert scales["All"] >= 2.0**-1


@pytest.mark.option("EnableSubgraph")
def test_bodies_are_quantized_on_request() -> None:
    model = graph(
        """t (float[1, 3, 8, 8] x, bool c) => (float[1, 4, 6, 6] y) {
            y = If(c) <
                then_branch = then () => (float[1, 4, 6, 6] p) { p = Conv(x, w) },
                else_branch = otherwise () => (float[1, 4, 6, 6] q) { q = Conv(x, w2) }
            >
        }""",
        constants={"w": normal(4, 3, 3, 3), "w2": normal(4, 3, 3, 3)},
    )

    def inside(result: vitis.Result) -> set[str]:
        node = next(node for node in result.model.graph.node if node.op_type == "If")
        return {inner.op_type for attribute in node.attribute for inner in attribute.g.node}

    assert "DequantizeLinear" not in inside(quantize(model))
    assert "DequantizeLinear" in inside(quantize(model, extra_options={"EnableSubgraph": True}))


Draw = Callable[[int], dict[str, Any]]
SHAPE = (1, 4, 8, 8)


def plain(seed: int) -> dict[str, Any]:
    """N(0, 1) in x and z."""
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(SHAPE).astype(np.float32) for name in "xz"}


def apart(seed: int) -> dict[str, Any]:
    """x is large where z is small, and the other way round: their product is small everywhere."""
    feed = plain(seed)
    large = np.arange(256).reshape(SHAPE) % 2 == 0
    return {
        "x": np.where(large, 100 * feed["x"], 1e-4 * feed["x"]).astype(np.float32),
        "z": np.where(large, 1e-4 * feed["z"], 100 * feed["z"]).astype(np.float32),
    }


def negative(seed: int) -> dict[str, Any]:
    """Hardly above 0, or far below it."""
    feed = plain(seed)
    return {**feed, "x": np.where(feed["x"] > 0, 0.03, -100 - feed["x"]).astype(np.float32)}


# A graph, and samples, with which the rule has to move something.
BROKEN: dict[str, tuple[str, Draw]] = {
    "AdjustShiftCut": ("h = Conv(x, tiny, huge) y = Add(h, z)", plain),
    "AdjustShiftBias": ("h = Conv(x, tiny, huge) y = Add(h, z)", plain),
    "AdjustShiftRead": ("h = Mul(x, little) y = Add(h, z)", plain),
    "AdjustShiftWrite": ("y = Mul(x, z)", apart),
    "AdjustHardSigmoid": ("h = Mul(x, much) y = HardSigmoid<alpha = 0.16666667>(h)", plain),
    "AdjustShiftSwish": ("h = HardSigmoid<alpha = 0.16666667>(x) y = Mul(x, h)", negative),
    "AlignConcat": ("h = Mul(x, some) y = Concat<axis = 1>(h, z)", plain),  # far more would ruin z: the rule gives way
    "AlignPool": ("h = Relu(x) y = GlobalAveragePool(h)", plain),
}


def rule_moves(key: str, **options: Any) -> set[str]:
    """Names of the rules that moved something."""
    text, draw = BROKEN[key]
    constants = {
        "tiny": normal(4, 4, 1, 1) * np.float32(1e-4),
        "huge": np.float32([60, -60, 30, -30]),
        "much": np.array(60, np.float32),
        "some": np.array(8, np.float32),
        "little": np.array(1 / 4000, np.float32),
    }
    used = {name: value for name, value in constants.items() if name in text}
    inputs = ", ".join(f"float[1, 4, 8, 8] {name}" for name in "xz" if name in text.replace("axis", ""))
    model = graph(f"t ({inputs}) => (float[] y) {{ {text} }}", constants=used)
    names = {value.name for value in model.graph.input}
    feeds = [{name: array for name, array in draw(seed).items() if name in names} for seed in range(4)]
    result = quantize(model, feeds, enable_dpu=True, optimize_model=False, extra_options=options)
    return {rule for move in result.report.moves for rule in move.rules}


@pytest.mark.option("AdjustShiftCut", "AdjustShiftBias", "AdjustShiftRead", "AdjustShiftWrite")
@pytest.mark.option("AdjustHardSigmoid", "AdjustShiftSwish", "AlignConcat", "AlignPool")
@pytest.mark.parametrize("key", BROKEN)
def test_a_rule_acts_unless_switched_off(key: str) -> None:
    assert key in rule_moves(key)
    assert key not in rule_moves(key, **{key: False})


@pytest.mark.option("IPULimitationCheck")
@pytest.mark.parametrize("key", ["IPULimitationCheck", "NPULimitationCheck"])
def test_one_switch_for_all_rules(key: str) -> None:
    assert rule_moves("AlignConcat", **{key: False}) == set()


@pytest.mark.option("extra_options")
def test_both_names_of_an_argument_say_the_same() -> None:
    argument = quantize(CNN, enable_dpu=True).model
    option = quantize(CNN, extra_options={"EnableDPU": True}).model
    assert argument == option


SIMULATED = {
    "ConvertLeakyReluToDPUVersion": "y = LeakyRelu<alpha = 0.1>(x)",
    "ConvertSigmoidToHardSigmoid": "y = Sigmoid(x)",
    "ConvertHardSigmoidToDPUVersion": "y = HardSigmoid<alpha = 0.16666667>(x)",
    "ConvertAvgPoolToDPUVersion": "y = AveragePool<kernel_shape = [3, 3]>(x)",
    "ConvertReduceMeanToDPUVersion": "y = ReduceMean<axes = [2, 3]>(x)",
}


@pytest.mark.option("ConvertLeakyReluToDPUVersion", "ConvertSigmoidToHardSigmoid", "ConvertHardSigmoidToDPUVersion")
@pytest.mark.option("ConvertAvgPoolToDPUVersion", "ConvertReduceMeanToDPUVersion")
@pytest.mark.parametrize("key", SIMULATED)
def test_a_simulation_runs_unless_switched_off(key: str) -> None:
    model = graph(f"t (float[1, 4, 6, 6] x) => (float[] y) {{ {SIMULATED[key]} }}")
    known = {"enable_dpu": True, "optimize_model": False}
    options = {"ConvertReduceMeanToGlobalAvgPool": False}
    assert key in quantize(model, extra_options=options, **known).report.transforms
    assert key not in quantize(model, extra_options={**options, key: False}, **known).report.transforms


@pytest.mark.option("RemoveQDQConvPRelu")
def test_prelu_fuses_on_request() -> None:
    model = graph(
        "t (float[1, 4, 8, 8] x) => (float[] y) { h = Conv(x, v) y = PRelu(h, s) }",
        constants={"v": normal(4, 4, 1, 1), "s": np.abs(normal(4, 1, 1))},
    )
    for flag in (False, True):
        found = pairs(quantize(model, enable_dpu=True, extra_options={"RemoveQDQConvPRelu": flag}))
        assert ("h" in found) != flag


@pytest.mark.option("CLETotalLayerDiffThreshold")
def test_equalization_stops_where_little_changes() -> None:
    model = graph(
        "t (float[1, 4, 8, 8] x) => (float[] y)"
        "{ a = Conv(x, w) b = Relu(a) c = Conv(b, u) d = Relu(c) y = Conv(d, v) }",
        constants={"w": normal(8, 4, 1, 1), "u": normal(8, 8, 1, 1), "v": normal(8, 8, 1, 1)},
    )

    def scales(**options: Any) -> list[float]:
        result = quantize(
            model,
            calibrate_method=vitis.CalibrationMethod.MinMax,
            include_cle=True,
            extra_options={"CLEScaleUseThreshold": False, **options},
        )
        return [float(arrays(result)[f"{name}_scale"]) for name in "wuv"]

    once = scales(CLESteps=1)
    assert scales(CLESteps=-1, CLETotalLayerDiffThreshold=1e9) == once
    assert scales(CLESteps=-1, CLETotalLayerDiffThreshold=1e-6) != once


OURS: dict[str, dict[str, Any]] = {
    "a method of ours": {"calibrate_method": vitis.PowerOfTwoMethod.MinMSE},
    "a type of ours": {"weight_type": vitis.VitisQuantType.QInt16},
    "a format of ours": {"quant_format": vitis.VitisQuantFormat.QDQ},
    "a type of ours in an override": {
        "extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": vitis.VitisQuantType.QInt16}]}}
    },
    "an option of the host": {"extra_options": {"Target": "cpu"}},
    "an option of a plugin": {"extra_options": {"MinMSEMode": "All"}},
}
THEIRS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no options": {"extra_options": {}},
    "an option that both know": {"extra_options": {"WeightSymmetric": True}},
    "overrides of onnxruntime's types": {
        "extra_options": {"TensorQuantOverrides": {"x": [{"quant_type": vitis.QuantType.QUInt16}]}}
    },
    "an option that nobody knows": {"extra_options": {"SomethingElse": 1}},
    "a key that is no text": {"extra_options": {3: 4}},
    "options that are none": {"extra_options": [1]},
}


@pytest.mark.parametrize("case", [*OURS, *THEIRS])
def test_whose_call_it_is(case: str) -> None:
    """At onnxruntime's door a call is ours that asks for something of ours."""
    assert is_ours(OURS.get(case, THEIRS.get(case, {}))) == (case in OURS)


def test_an_argument_that_nobody_knows_is_refused_as_python_refuses_it() -> None:
    with pytest.raises(vitis.errors.OptionTypeError, match="unexpected keyword argument 'per_chanel'"):
        vitis.quantize_static(CNN, None, samples(CNN), per_chanel=True)


def test_providers_of_onnxruntimes_door_calibrate() -> None:
    call = {"model_input": CNN, "model_output": "q.onnx"}
    found = request_from_ort({**call, "calibration_providers": ["CPUExecutionProvider"]})
    assert found.given == {"ExecutionProviders": ["CPUExecutionProvider"]}
    asked = {"ExecutionProviders": ["XExecutionProvider"]}
    both = request_from_ort({**call, "calibration_providers": [], "extra_options": asked})
    assert both.given == asked
    assert request_from_ort(call).given == {}
