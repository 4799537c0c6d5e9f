"""A call that asks for nothing of ours gives ORT's bytes, prints and log lines: before, while and after attaching."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import io
import logging
import threading
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime.quantization as ort_quantization
import pytest
from onnx import helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    CalibrationMethod,
    DynamicQuantConfig,
    QuantFormat,
    QuantType,
    StaticQuantConfig,
    quantize,
    quantize_dynamic,
    quantize_static,
)
from onnxruntime.quantization.calibrate import create_calibrator

from ort_vitis_plugin.entry.attach import attach, attached, detach, is_attached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Taken while nothing was attached, or in this process at least before this file attaches anything.
PREBOUND = quantize_static


class Reader(CalibrationDataReader):  # type: ignore[misc]
    """Four samples, the same ones each time."""

    def __init__(self) -> None:
        rng = np.random.default_rng(7)
        self.samples = iter([{"x": rng.normal(size=(1, 3, 8, 8)).astype(np.float32)} for _ in range(4)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self.samples, None)


def network() -> onnx.ModelProto:
    """Conv, Relu, Conv, Add, pooling, Flatten, Gemm."""
    rng = np.random.default_rng(3)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array(rng.normal(scale=0.3, size=shape).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a"], "add"),
        helper.make_node("GlobalAveragePool", ["a"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], "gemm", transB=1),
    ]
    shapes = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 8, 3, 3), "b2": (8,), "w3": (5, 8), "b3": (5,)}
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 5])],
        [weight(name, *shape) for name, shape in shapes.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def static(**arguments: object) -> Callable[[Path, Path], None]:
    return lambda source, target: quantize_static(source, target, Reader(), **arguments)


def by_config(source: Path, target: Path) -> None:
    config = StaticQuantConfig(
        Reader(), per_channel=True, activation_type=QuantType.QUInt8, extra_options={"ActivationSymmetric": False}
    )
    quantize(source, target, config)


def by_attribute(source: Path, target: Path) -> None:
    ort_quantization.quantize_static(str(source), str(target), Reader())


def from_proto(source: Path, target: Path) -> None:
    quantize_static(onnx.load(source), target, Reader())


def dynamic_by_config(source: Path, target: Path) -> None:
    quantize(source, target, DynamicQuantConfig(weight_type=QuantType.QUInt8))


def ranges(source: Path, target: Path) -> None:
    """What ORT's calibrator measures, as text."""
    augmented = str(target) + ".augmented.onnx"
    calibrator = create_calibrator(source, ["Conv"], augmented, calibrate_method=CalibrationMethod.Percentile)
    calibrator.collect_data(Reader())
    found = {
        name: [float(bound.item()) for bound in data.range_value] for name, data in calibrator.compute_data().items()
    }
    target.write_text(repr(sorted(found.items())))


# Each row is a whole call; `static(...)` is quantize_static with these arguments.
PLAIN_CALLS: dict[str, Callable[[Path, Path], None]] = {
    "default": static(),
    "pre-bound": lambda source, target: PREBOUND(source, target, Reader()),
    "by attribute": by_attribute,
    "ModelProto": from_proto,
    "per channel": static(per_channel=True),
    "reduce range": static(reduce_range=True),
    "uint8": static(activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8),
    "QOperator": static(quant_format=QuantFormat.QOperator, per_channel=True),
    "int16": static(activation_type=QuantType.QInt16),
    "int16 weights": static(activation_type=QuantType.QInt16, weight_type=QuantType.QInt16),
    "Entropy": static(calibrate_method=CalibrationMethod.Entropy),
    "Percentile": static(calibrate_method=CalibrationMethod.Percentile, extra_options={"CalibPercentile": 99.9}),
    "Conv only": static(op_types_to_quantize=["Conv"], nodes_to_exclude=["conv2"]),
    "keys that both know": static(
        extra_options={"QuantizeBias": False, "WeightSymmetric": True, "CalibTensorRangeSymmetric": True}
    ),
    "a key that nobody knows": static(extra_options={"ZzzUnheardOf": 1}),
    "overrides": static(
        extra_options={"TensorQuantOverrides": {"r1": [{"quant_type": QuantType.QUInt8}]}, "DedicatedQDQPair": True}
    ),
    "StaticQuantConfig": by_config,
    "create_calibrator": ranges,
    "dynamic": lambda source, target: quantize_dynamic(source, target, weight_type=QuantType.QUInt8),
    "DynamicQuantConfig": dynamic_by_config,
}


@pytest.fixture(autouse=True)
def detached() -> Iterator[None]:
    """Nothing attached when a test starts."""
    was = is_attached()
    detach()
    yield
    detach()
    if was:
        attach()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "network.onnx"
    onnx.save(network(), path)
    return path


@pytest.mark.parametrize("call", PLAIN_CALLS.values(), ids=PLAIN_CALLS)
def test_plain_call(
    call: Callable[[Path, Path], None], source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    if call is from_proto:
        try:
            call(source, tmp_path / "quantized.onnx")
        except onnx.checker.ValidationError:
            pytest.skip("this onnx does not read back what this onnxruntime writes for a ModelProto")

    def outcome() -> tuple[bytes, str, list[tuple[str, int, str]], list[str]]:
        target = tmp_path / "quantized.onnx"
        target.unlink(missing_ok=True)
        caplog.clear()
        printed = io.StringIO()
        with redirect_stdout(printed), caplog.at_level(logging.DEBUG):
            call(source, target)
        files = sorted(path.name for path in tmp_path.iterdir())
        return target.read_bytes(), printed.getvalue(), caplog.record_tuples[:], files

    before = outcome()
    assert outcome() == before, "ORT itself is deterministic here"
    with attached():
        while_attached = outcome()
    after = outcome()
    assert while_attached == before
    assert after == before


@pytest.mark.parametrize("arguments", [{"calibrate_method": "nonsense"}, {"activation_type": QuantType.QInt16}])
def test_plain_error(source: Path, tmp_path: Path, arguments: dict[str, object]) -> None:
    """The second is refused by ORT in QOperator format, after calibration."""

    def error() -> tuple[type[Exception], str]:
        with pytest.raises(ValueError) as raised:
            quantize_static(source, tmp_path / "q.onnx", Reader(), quant_format=QuantFormat.QOperator, **arguments)
        return type(raised.value), str(raised.value)

    before = error()
    with attached():
        assert error() == before
    assert error() == before


def test_plain_calls_in_threads_while_others_attach(tmp_path: Path) -> None:
    """Four threads of plain calls, one that attaches and detaches all the time."""
    calls = [PLAIN_CALLS[name] for name in ("default", "per channel", "Entropy", "QOperator")]
    expected = []
    for index, call in enumerate(calls):
        (tmp_path / str(index)).mkdir()  # ORT writes beside its input, so each thread has an input of its own
        onnx.save(network(), tmp_path / str(index) / "network.onnx")
        call(tmp_path / str(index) / "network.onnx", tmp_path / str(index) / "expected.onnx")
        expected.append((tmp_path / str(index) / "expected.onnx").read_bytes())
    results: list[list[bytes]] = [[] for _ in calls]
    stop = threading.Event()

    def run(index: int) -> None:
        target = tmp_path / str(index) / "quantized.onnx"
        for _ in range(3):
            calls[index](tmp_path / str(index) / "network.onnx", target)
            results[index].append(target.read_bytes())

    def toggle() -> None:
        while not stop.is_set():
            with attached():
                stop.wait(0.001)

    toggler = threading.Thread(target=toggle)
    workers = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in (toggler, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    toggler.join()
    assert results == [[reference] * 3 for reference in expected]


def test_plain_and_vitis_calls_in_threads(tmp_path: Path) -> None:
    """Plain calls give ORT's bytes while other threads make ours through the same name."""
    from ort_vitis_plugin.numerics.qtypes import PowerOfTwoMethod

    paths = [tmp_path / f"{name}.onnx" for name in ("plain", "ours")]
    for path in paths:
        onnx.save(network(), path)
    quantize_static(paths[0], tmp_path / "expected.onnx", Reader())
    expected = (tmp_path / "expected.onnx").read_bytes()
    failures: list[BaseException] = []

    def plain() -> None:
        for _ in range(4):
            quantize_static(paths[0], tmp_path / "a.onnx", Reader())
            assert (tmp_path / "a.onnx").read_bytes() == expected

    def ours() -> None:
        for _ in range(2):
            method = PowerOfTwoMethod.NonOverflow
            result = quantize_static(paths[1], tmp_path / "b.onnx", Reader(), calibrate_method=method)
            assert result is None
            scales = [
                float(scale)
                for tensor in onnx.load(tmp_path / "b.onnx").graph.initializer
                if tensor.name.endswith("_scale")
                for scale in np.atleast_1d(numpy_helper.to_array(tensor))
            ]
            assert scales
            assert all(float(np.log2(scale)).is_integer() for scale in scales)

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    with attached():
        threads = [threading.Thread(target=guarded, args=(work,)) for work in (plain, ours)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
