"""Methods of a plugin: typed, asked for weights too, and third-party calibraters fed like the host's observers."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pluggy
import pytest
from onnxruntime.quantization.calibrate import CalibrationMethod, MinMaxCalibrater, TensorData, TensorsData

import ort_vitis_plugin
from ort_vitis_plugin import api
from ort_vitis_plugin.api import (
    CalibraterMethod,
    ErrorCurve,
    PositionMethod,
    PowerOfTwoMethod,
    QuantType,
    RangeMethod,
    Role,
    Sketch,
    TensorFacts,
    hookimpl,
)
from ort_vitis_plugin.errors import PluginError, UnsupportedError
from ort_vitis_plugin.testing import random_feeds

CONV = "t (float[1, 2, 6, 6] x) => (float[1, 3, 6, 6] y) { y = Conv<pads = [1, 1, 1, 1]>(x, w, b) }"
INSIDE = "_QuantizeLinear_Input"
Quantize = Callable[..., Any]


def declaring(*declarations: object) -> SimpleNamespace:
    @hookimpl
    def vitis_declare() -> Iterable[object]:
        return declarations

    return SimpleNamespace(vitis_declare=vitis_declare)


@pytest.fixture
def model(graph: Callable[..., onnx.ModelProto]) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    return graph(CONV, constants={"w": weights, "b": np.array([0.1, -0.2, 0.3], np.float32)})


@pytest.fixture
def quantize(model: onnx.ModelProto, plugins: pluggy.PluginManager) -> Quantize:
    """Quantize with the methods of a plugin; three samples unless ``reader`` says otherwise."""

    def run(*methods: object, key: object = "mine", **arguments: Any) -> Any:
        plugins.register(declaring(*methods), "mine")
        options = {"Method": key, **arguments.pop("extra_options", {})}
        reader = [random_feeds(model, seed) for seed in range(3)]
        arguments = {"calibration_data_reader": reader, "activation_type": QuantType.QUInt8, **arguments}
        return ort_vitis_plugin.quantize_static(model, None, extra_options=options, plugins=plugins, **arguments)

    return run


def scales(model: onnx.ModelProto) -> dict[str, float]:
    """Scale by tensor, of the pairs and of the constants."""
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {
        node.input[0].removesuffix("_quantized").removesuffix(INSIDE): float(constants[node.input[1]].max())
        for node in model.graph.node
        if node.op_type in ("QuantizeLinear", "DequantizeLinear")
        and not node.input[0].endswith("QuantizeLinear_Output")
    }


def test_a_range_method_gives_the_range(quantize: Quantize) -> None:
    seen: dict[str, TensorFacts] = {}

    def choose(sketch: Sketch, tensor: TensorFacts) -> tuple[float, float]:
        seen[tensor.name] = tensor
        return -51.0, 204.0

    found = scales(quantize(RangeMethod("mine", "Mine.", choose)).model)
    assert found["x"] == found["y"] == 1.0
    assert {name: tensor.role for name, tensor in seen.items()} == {"x": Role.ACTIVATION, "y": Role.ACTIVATION}
    assert all(tensor.values is tensor.input_energy is tensor.collected is None for tensor in seen.values())
    assert seen["x"].configuration.activation.bits == 8


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_range_method_chooses_for_weights(quantize: Quantize, model: onnx.ModelProto, per_channel: bool) -> None:
    shapes = []

    def choose_weight(values: np.ndarray[Any, Any], tensor: TensorFacts) -> tuple[float, float]:
        assert tensor.role is Role.WEIGHT
        assert tensor.values is values
        shapes.append(values.shape)
        return -127.0, 127.0

    method = RangeMethod("mine", "Mine.", lambda seen, tensor: (-1.0, 1.0), choose_weight=choose_weight)
    # So wide a range ruins the model, and the advice of the self-check would try it per channel, and with other steps.
    found = scales(quantize(method, per_channel=per_channel, extra_options={"SelfCheck": False}).model)
    assert found["w"] == 1.0
    assert shapes == ([(18,)] * 3 if per_channel else [(3, 2, 3, 3)])


@pytest.mark.parametrize("recipe", ["auto", "plain"])
def test_a_method_that_chooses_for_weights_sees_what_they_multiply(
    quantize: Quantize, model: onnx.ModelProto, recipe: str
) -> None:
    seen: list[np.ndarray[Any, Any] | None] = []

    def choose_weight(values: np.ndarray[Any, Any], tensor: TensorFacts) -> tuple[float, float]:
        seen.append(tensor.input_energy)
        return -127.0, 127.0

    method = RangeMethod("mine", "Mine.", lambda seen, tensor: (-1.0, 1.0), choose_weight=choose_weight)
    quantize(method, extra_options={"SelfCheck": False, "Recipe": recipe})
    feeds = [random_feeds(model, seed)["x"].astype(np.float64) for seed in range(3)]
    assert len(seen) == 1
    np.testing.assert_allclose(seen[0], np.mean(np.square(feeds), axis=(0, 1, 3, 4)), rtol=1e-6)


def test_weights_keep_the_range_of_their_values_by_default(quantize: Quantize, model: onnx.ModelProto) -> None:
    weights = onnx.numpy_helper.to_array(model.graph.initializer[0])
    found = scales(quantize(RangeMethod("mine", "Mine.", lambda seen, tensor: (-1.0, 1.0))).model)
    assert found["w"] == pytest.approx(np.abs(weights).max() / 127, rel=1e-6)


def test_a_position_method_gives_positions_of_all_tensors(quantize: Quantize) -> None:
    roles = {}

    def choose(curve: ErrorCurve, tensor: TensorFacts) -> int:
        roles[tensor.name] = tensor.role
        assert (tensor.values is None) == (tensor.role is Role.ACTIVATION)
        return {Role.ACTIVATION: 3, Role.WEIGHT: 5}[tensor.role]

    found = scales(quantize(PositionMethod("mine", "Mine.", choose)).model)
    assert (found["x"], found["y"], found["w"]) == (2**-3, 2**-3, 2**-5)
    assert roles == {"x": Role.ACTIVATION, "y": Role.ACTIVATION, "w": Role.WEIGHT}


def test_a_collector_sees_each_sample(quantize: Quantize) -> None:
    class Largest:
        def __init__(self) -> None:
            self.samples: list[float] = []

        def observe(self, sketches: Any) -> None:
            self.samples.append(sketches["x"].maximum)

    def choose(seen: Sketch, tensor: TensorFacts) -> tuple[float, float]:
        assert len(tensor.collected.samples) == 3
        assert max(tensor.collected.samples) >= 0
        return -51.0, 204.0

    assert scales(quantize(RangeMethod("mine", "Mine.", choose, lambda settings: Largest())).model)["x"] == 1.0


@pytest.mark.parametrize("answer", [None, 3.0, (1.0,), ("a", "b"), (float("nan"), 1.0), (1.0, 2.0, 3.0)])
def test_what_is_no_range_is_refused(quantize: Quantize, answer: object) -> None:
    with pytest.raises(PluginError, match=r"mine gives .* for (x|y)"):
        quantize(RangeMethod("mine", "Mine.", lambda seen, tensor: answer))  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("answer", [None, 3.5, True, "5"])
def test_what_is_no_position_is_refused(quantize: Quantize, answer: object) -> None:
    with pytest.raises(PluginError, match=r"mine gives .* not a position"):
        quantize(PositionMethod("mine", "Mine.", lambda curve, tensor: answer))  # type: ignore[arg-type, return-value]


def test_old_calibrators_work_with_a_warning(quantize: Quantize) -> None:
    with pytest.warns(DeprecationWarning, match="write RangeMethod or PositionMethod"):
        old = api.Calibrator
    floats = old("floats", "Old.", False, lambda sketch, name, run, collected: (-51.0, 204.0))
    powers = old("powers", "Old.", True, lambda curve, name, collected: 4, never_clips=True)
    assert (floats.power_of_two, powers.power_of_two, powers.never_clips) == (False, True, True)
    assert scales(quantize(floats, powers, key="floats").model)["x"] == 1.0


def test_old_position_calibrators(quantize: Quantize) -> None:
    with pytest.warns(DeprecationWarning, match="old name"):
        old = api.Calibrator
    assert scales(quantize(old("mine", "Old.", True, lambda curve, name, collected: 4)).model)["x"] == 2**-4


class Halves(MinMaxCalibrater):  # type: ignore[misc]
    """Half of what onnxruntime's MinMax says; notes how it is fed."""

    fed: list[int]

    def __init__(self, *args: Any, factor: float = 0.5, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.factor = factor
        type(self).fed = []

    def collect_data(self, data_reader: Any) -> None:
        feeds = list(data_reader)
        self.fed.append(len(feeds))
        super().collect_data(iter_reader(feeds))

    def compute_data(self) -> TensorsData:
        data = {}
        for name, entry in super().compute_data().items():
            low, high = (np.asarray(end * self.factor, np.float32) for end in entry.range_value)
            data[name] = TensorData(lowest=low, highest=high)
        return TensorsData(CalibrationMethod.MinMax, data)


def iter_reader(feeds: list[Any]) -> Any:
    waiting = iter(feeds)
    return SimpleNamespace(get_next=lambda: next(waiting, None))


def once(model: onnx.ModelProto) -> Iterator[Any]:
    """Samples that can be read only once."""
    yield from (random_feeds(model, seed) for seed in range(3))


def test_a_calibrater_of_onnxruntime_is_a_method(quantize: Quantize, model: onnx.ModelProto) -> None:
    mine = CalibraterMethod("mine", "Half of MinMax.", Halves)
    found = quantize(mine, calibration_data_reader=once(model))
    wanted = {}
    for seed in range(3):
        wanted[seed] = random_feeds(model, seed)["x"]
    low, high = min(x.min() for x in wanted.values()), max(x.max() for x in wanted.values())
    assert scales(found.model)["x"] == pytest.approx((high - low) / 2 / 255, rel=1e-6)
    assert Halves.fed == [1, 1, 1]
    assert not [note for note in found.report.notes if "Halves" in note]


def test_its_arguments_come_from_the_configuration(quantize: Quantize, model: onnx.ModelProto) -> None:
    mine = CalibraterMethod("mine", "A share.", Halves, lambda settings: {"factor": 1.0})
    plain = quantize(mine)
    x = np.stack([random_feeds(model, seed)["x"] for seed in range(3)])
    assert scales(plain.model)["x"] == pytest.approx((x.max() - x.min()) / 255, rel=1e-6)


def test_what_it_leaves_out_keeps_its_values_and_is_noted(quantize: Quantize, model: onnx.ModelProto) -> None:
    class Partly(Halves):
        def compute_data(self) -> TensorsData:
            return TensorsData(CalibrationMethod.MinMax, {"y": super().compute_data()["y"]})

    found = quantize(CalibraterMethod("mine", "Partly.", Partly))
    x = np.stack([random_feeds(model, seed)["x"] for seed in range(3)])
    assert scales(found.model)["x"] == pytest.approx((x.max() - x.min()) / 255, rel=1e-6)
    assert [note for note in found.report.notes if "Partly gave no range of x" in note]


def test_statistics_made_beforehand_cannot_serve_it(
    quantize: Quantize, model: onnx.ModelProto, reader: Callable[..., Any]
) -> None:
    known = ort_vitis_plugin.calibrate(model, reader(model))
    with pytest.raises(UnsupportedError, match="Halves looks at each sample apart"):
        quantize(CalibraterMethod("mine", "Half.", Halves), calibration=known, calibration_data_reader=None)


def test_methods_say_what_they_are() -> None:
    bundled = {str(entry): entry for entry in PowerOfTwoMethod}
    assert bundled
    with pytest.raises(UnsupportedError, match="gives ranges, no power-of-two positions"):
        RangeMethod("mine", "Mine.", lambda seen, tensor: (0, 1)).position_of(None, None)  # type: ignore[arg-type]
