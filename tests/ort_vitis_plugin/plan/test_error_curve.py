"""The position that MinMSE chooses against an exhaustive float64 search over the values that calibration saw."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin import PowerOfTwoMethod, QuantType, VitisQuantFormat, quantize_static
from ort_vitis_plugin.api import hookimpl
from ort_vitis_plugin.graph import Graph
from ort_vitis_plugin.numerics.qtypes import host_qtype
from ort_vitis_plugin.plan import Plan, Role
from ort_vitis_plugin.plan.error_curve import ErrorCurve
from ort_vitis_plugin.plugin.manager import new_manager
from ort_vitis_plugin.sketch import Sketch
from tests.models import networks
from tests.models.distributions import DISTRIBUTIONS, data

KINDS = (QuantType.QInt4, QuantType.QInt8, QuantType.QUInt8, QuantType.QInt16)
FEW, MANY = range(4), range(25)  # seeds
POSITIONS = range(-30, 45)


class Watch:
    """Keeps what the stages made: the prepared model and the plan before any rule moves it."""

    def __init__(self) -> None:
        self.model: ModelProto
        self.graph: Graph
        self.positions: dict[str, tuple[int, int]] = {}

    @hookimpl
    def vitis_stage_done(self, stage: str, value: Any) -> None:
        if stage == "prepare":
            model = ModelProto()
            model.CopyFrom(value.to_model())  # emission goes on with the graph itself
            self.model, self.graph = model, Graph(model, copy=False)
        if stage == "make_plan":
            self._see(value)

    def _see(self, plan: Plan) -> None:
        """Tensors that were searched for, and not merely saturated by the Relu or Clip behind them."""
        for planned in plan:
            reader = self.graph.sole_consumer(planned.name)
            searched = planned.role is Role.ACTIVATION and planned.curve is not None and planned.position is not None
            if searched and (reader is None or reader.op_type not in ("Relu", "Clip")):
                assert planned.position is not None
                self.positions[planned.name] = planned.position, int(planned.zero_point)


def searched(model: ModelProto | Path, feeds: list[Any], kind: Any) -> Watch:
    """Through the whole door; the samples can be read again, which 16 bits need."""
    watch, manager = Watch(), new_manager(entry_points=False)
    manager.register(watch)
    quantize_static(
        model,
        None,
        feeds,
        quant_format=VitisQuantFormat.QDQ if host_qtype(kind).is_wide else "QDQ",
        calibrate_method=PowerOfTwoMethod.MinMSE,
        activation_type=kind,
        weight_type=kind if host_qtype(kind).bits < 8 else QuantType.QInt8,
        extra_options={"ActivationSymmetric": True, "SelfCheck": False},
        plugins=manager,
    )
    return watch


def errors(values: np.ndarray, kind: Any, zero_point: int) -> np.ndarray:
    x, known = values.astype(np.float64).reshape(-1), host_qtype(kind)
    found = []
    for position in POSITIONS:
        scaled = np.ldexp(x, position)
        scaled -= np.clip(np.rint(scaled), known.min - zero_point, known.max - zero_point)
        found.append(float(np.square(np.ldexp(scaled, -position)).sum()))
    return np.array(found)


def check(values: np.ndarray, kind: Any, chosen: tuple[int, int], name: str) -> None:
    position, zero_point = chosen
    assert zero_point == host_qtype(kind).symmetric_zero_point()
    found = errors(values, kind, zero_point)
    assert found[position - POSITIONS[0]] <= found.min() * (1 + 1e-9), name


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_eight_distributions(seeds: range, kind: Any) -> None:
    """One tensor for each distribution and seed, over two samples."""
    inputs = {f"{name} {seed}": (name, seed) for name in DISTRIBUTIONS for seed in seeds}
    feeds: list[dict[str, np.ndarray]] = [{}, {}]
    for title, (name, seed) in inputs.items():
        halves = data(name, seed, 2000).reshape(2, 1000)
        feeds[0][title], feeds[1][title] = halves
    graph = helper.make_graph(
        [helper.make_node("Mul", [title, title], [f"{title} squared"], title) for title in inputs],
        "distributions",
        [helper.make_tensor_value_info(title, TensorProto.FLOAT, [1000]) for title in inputs],
        [helper.make_tensor_value_info(f"{title} squared", TensorProto.FLOAT, [1000]) for title in inputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    watch = searched(model, feeds, kind)
    assert set(inputs) <= watch.positions.keys()
    for title in inputs:
        values = np.concatenate([feed[title] for feed in feeds])
        check(values, kind, watch.positions[title], title)
        check(values * values, kind, watch.positions[f"{title} squared"], title)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    "name", ["digits", *(pytest.param(each, marks=pytest.mark.slow) for each in ("depthwise_skewed", "transformer"))]
)
def test_every_tensor_of_trained_networks(name: str, kind: Any) -> None:
    feeds = networks.digits(name, 8, 1).calibration
    watch = searched(networks.network(name), feeds, kind)
    model = watch.model
    made = {output for node in model.graph.node for output in node.output}
    wanted = [tensor for tensor in watch.positions if tensor in made]
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=tensor) for tensor in wanted)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values: dict[str, list[np.ndarray]] = {tensor: [] for tensor in watch.positions}
    for feed in feeds:
        found = dict(zip(wanted, session.run(wanted, feed), strict=True)) | feed
        for tensor in values.keys() & found.keys():
            values[tensor].append(np.ravel(found[tensor]))
    for tensor in values.keys() - {*made, *feeds[0]}:  # operands that the model holds
        values[tensor] = [watch.graph.array(tensor).reshape(-1)]
    assert len(values) >= 6
    for tensor, parts in values.items():
        check(np.concatenate(parts), kind, watch.positions[tensor], tensor)


def test_errors_are_relative_to_the_energy_of_the_tensor() -> None:
    values = np.random.default_rng(0).normal(size=500).astype(np.float32)
    sketch, kind = Sketch(), host_qtype(QuantType.QInt8)
    sketch.add(values)
    curve = ErrorCurve(sketch, kind, kind.limits(), True)
    for position in (0, 3, 5, 12):
        step = 2.0**-position
        rounded = np.clip(np.rint(values / step), -128, 127) * step
        squared = float(((values - rounded.astype(np.float64)) ** 2).sum())
        assert curve.squared_error(position) == pytest.approx(squared, rel=1e-4)
        assert curve.error(position) == pytest.approx(squared / float((values.astype(np.float64) ** 2).sum()), rel=1e-4)


def test_what_is_zero_has_no_error() -> None:
    sketch, kind = Sketch(), host_qtype(QuantType.QInt8)
    sketch.add(np.zeros(3, np.float32))
    curve = ErrorCurve(sketch, kind, kind.limits(), True)
    assert [curve.error(position) for position in (0, 7, 20)] == [0.0, 0.0, 0.0]
