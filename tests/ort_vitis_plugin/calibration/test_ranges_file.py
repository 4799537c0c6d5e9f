"""onnxruntime's calibration_cache_path: its files serve our calls, ours serve its calls, and misfits are named."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime.quantization as ort_quantization
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType

from ort_vitis_plugin import PowerOfTwoMethod, VitisQuantFormat, VitisQuantType, calibrate, quantize_static
from ort_vitis_plugin.entry.attach import attached, original
from ort_vitis_plugin.errors import CalibrationError, OptionError, OptionTypeError, UnsupportedError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import graph, random_feeds, run_model

Feeds = list[dict[str, np.ndarray]]

METHODS = list(CalibrationMethod)
TYPES = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
HAS_ARGUMENT = "calibration_cache_path" in inspect.signature(ort_quantization.quantize_static).parameters
newest = pytest.mark.skipif(not HAS_ARGUMENT, reason="this onnxruntime has no calibration_cache_path")


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.5, shape).astype(np.float32)


def network() -> ModelProto:
    """Nothing in it folds or fuses away, so onnxruntime and this package name the same tensors."""
    return graph(
        """t (float[1, 3, 8, 8] x) => (float[1, 10] y) {
            [c1] h = Conv<pads = [1, 1, 1, 1]>(x, w, b)
            [r1] r = Relu(h)
            [s1] s = Sigmoid(r)
            [f1] f = Flatten(s)
            [g1] g = MatMul(f, v)
            [r2] y = Relu(g)
        }""",
        constants={"w": normal(1, 4, 3, 3, 3), "b": normal(2, 4), "v": normal(3, 256, 10)},
    )


def feeds(count: int = 5) -> Feeds:
    return [random_feeds(network(), seed) for seed in range(count)]


class Reader(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, samples: Feeds) -> None:
        self.rest = iter(samples)

    def get_next(self) -> Any:
        return next(self.rest, None)


def ours(path: Path | str, reader: Any = None, model: ModelProto | None = None, **arguments: Any) -> ModelProto:
    arguments = {**TYPES, "calibrate_method": CalibrationMethod.MinMax, **arguments}
    source = network() if model is None else model
    return quantize_static(source, None, reader, calibration_cache_path=path, **arguments).model


def theirs(folder: Path, path: Path, reader: Any = None, **arguments: Any) -> ModelProto:
    """onnxruntime's own function on a file, untouched."""
    onnx.save(network(), str(folder / "float.onnx"))
    plain = original(ort_quantization.quantize_static)
    plain(folder / "float.onnx", folder / "q.onnx", reader, calibration_cache_path=path, **{**TYPES, **arguments})
    return onnx.load(str(folder / "q.onnx"))


def content(model: ModelProto) -> bytes:
    return model.SerializeToString(deterministic=True)


def scales(model: ModelProto) -> dict[str, float]:
    """By float tensor."""
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {
        node.input[0]: float(known[node.input[1]])
        for node in model.graph.node
        if node.op_type == "QuantizeLinear" and node.input[0] not in known
    }


def limits(path: Path) -> dict[str, tuple[float, float]]:
    """As onnxruntime's documentation of the format says, without any of our code."""

    def number(stored: Any) -> float:
        return float(np.ravel(stored["data"] if isinstance(stored, dict) else stored)[0])

    data = json.loads(path.read_text())["data"]
    return {name: (number(entry["lowest"]), number(entry["highest"])) for name, entry in data.items()}


# ---------------------------------------------------------------------- written and read by us


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_second_call_needs_no_samples_and_gives_the_same_model(method: CalibrationMethod, tmp_path: Path) -> None:
    path = tmp_path / "made" / "ranges.json"
    first = ours(path, feeds(), calibrate_method=method)
    written = path.read_bytes()
    assert content(ours(str(path), calibrate_method=method)) == content(first)
    assert path.read_bytes() == written
    assert [each.name for each in path.parent.iterdir()] == ["ranges.json"]
    assert set(limits(path)) == {"x", "h", "r", "s", "f", "g", "y"}


def test_the_file_is_what_counts(tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    ours(path, feeds())
    payload = json.loads(path.read_text())
    payload["data"]["x"]["lowest"]["data"], payload["data"]["x"]["highest"]["data"] = -51.0, 204.0
    path.write_text(json.dumps(payload))
    assert scales(ours(path, feeds()))["x"] == 1.0


def test_without_the_path_the_ranges_are_the_same(tmp_path: Path) -> None:
    with_file = ours(tmp_path / "ranges.json", feeds())
    without = quantize_static(network(), None, feeds(), calibrate_method=CalibrationMethod.MinMax, **TYPES).model
    assert with_file.graph == without.graph


def test_what_averages_the_samples(tmp_path: Path) -> None:
    samples = feeds()
    samples[0]["x"][0, 0, 0, 0] = 1000.0
    options = {"CalibMovingAverage": True, "CalibMovingAverageConstant": 0.5}
    first = ours(tmp_path / "ranges.json", samples, extra_options=options)
    assert content(ours(tmp_path / "ranges.json", extra_options=options)) == content(first)
    assert 20 < limits(tmp_path / "ranges.json")["x"][1] < 200


@pytest.mark.parametrize("kind", ["added", "with -inf", "logits without a mask", "idle", "positive, subtracted"])
def test_masks_are_told_from_data_as_when_the_file_was_written(kind: str, tmp_path: Path) -> None:
    sign = "Sub" if kind == "positive, subtracted" else "Add"
    model = graph(
        f"t (float[1, 4, 6] x, float[1, 4, 5] m) => (float[1, 4, 5] y) "
        f"{{ h = MatMul(x, w) a = {sign}(h, m) y = Softmax(a) }}",
        constants={"w": normal(4, 6, 5)},
    )
    samples = [random_feeds(model, seed) for seed in range(3)]
    for number, sample in enumerate(samples):
        keep = np.random.default_rng(number).random((1, 4, 5)) < 0.6
        fill = {"added": -1e4, "with -inf": -np.inf, "idle": 0.0, "positive, subtracted": 1e4}.get(kind)
        sample["m"] = np.linspace(-100, 20, 20, dtype=np.float32).reshape(1, 4, 5)
        if fill is not None:
            sample["m"] = np.where(keep, np.float32(0), np.float32(fill))
    path = tmp_path / "ranges.json"
    first = ours(path, samples, model)
    assert ("m" in scales(first)) == (kind == "logits without a mask")
    assert content(ours(path, None, model)) == content(first)


def test_tensors_without_a_value_and_constant_ones(tmp_path: Path) -> None:
    model = graph(
        """t (float[1, 2, 4] x, float[1, p, 5] past, float[1, 2, 5] k) => (float[1, q, 5] y, float[1, 2, 5] z)
        { h = MatMul(x, w) y = Concat<axis = 1>(past, h) z = Mul(h, k) }""",
        constants={"w": normal(5, 4, 5)},
    )
    samples = [random_feeds(model, seed) for seed in range(3)]
    for sample in samples:
        sample["past"], sample["k"] = np.zeros((1, 0, 5), np.float32), np.full((1, 2, 5), -3, np.float32)
    first = ours(tmp_path / "ranges.json", samples, model)
    assert content(ours(tmp_path / "ranges.json", samples, model)) == content(first)


def test_float16_tensors(tmp_path: Path) -> None:
    model = graph("t (float16[1, 6] x) => (float16[1, 5] y) { h = MatMul(x, w) y = Relu(h) }", opset=19)
    model.graph.initializer.append(numpy_helper.from_array(normal(6, 6, 5).astype(np.float16), "w"))
    samples = [random_feeds(model, seed) for seed in range(3)]
    method = {"calibrate_method": CalibrationMethod.Percentile}
    first = ours(tmp_path / "ranges.json", samples, model, **method)
    assert content(ours(tmp_path / "ranges.json", samples, model, **method)) == content(first)
    assert json.loads((tmp_path / "ranges.json").read_text())["data"]["x"]["lowest"]["dtype"] == "float16"


@pytest.mark.parametrize("quant_format", [VitisQuantFormat.QDQ, VitisQuantFormat.FixNeuron], ids=str)
def test_other_formats_read_it(quant_format: VitisQuantFormat, tmp_path: Path) -> None:
    first = ours(tmp_path / "ranges.json", feeds())
    model = ours(tmp_path / "ranges.json", quant_format=quant_format, activation_type=QuantType.QInt8)
    (sample,) = feeds(1)
    reference = run_model(network(), sample)["y"]
    for made in (first, model):
        assert sqnr_db(reference, run_model(made, sample)["y"]) > 25


def test_a_calibration_may_be_written_out(tmp_path: Path) -> None:
    method = {"calibrate_method": CalibrationMethod.Entropy}
    made = calibrate(network(), feeds(), **method)
    first = ours(tmp_path / "ranges.json", calibration=made, **method)
    assert content(ours(tmp_path / "ranges.json", **method)) == content(first)


def test_by_option_key(tmp_path: Path) -> None:
    """For doors that have no such argument: onnxruntime's before 1.32, the command line."""
    path = str(tmp_path / "ranges.json")
    onnx.save(network(), str(tmp_path / "float.onnx"))
    for reader in (Reader(feeds()), Reader([])):
        with attached():
            ort_quantization.quantize_static(
                tmp_path / "float.onnx",
                tmp_path / "q.onnx",
                reader,
                extra_options={"CalibrationCachePath": path},
                **TYPES,
            )
    assert content(onnx.load(str(tmp_path / "q.onnx"))) == content(ours(path))


# ---------------------------------------------------------------------- the other's files


@newest
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_we_read_what_onnxruntime_wrote(method: CalibrationMethod, tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    plain = theirs(tmp_path, path, Reader(feeds()), calibrate_method=method)
    written = path.read_bytes()
    mine = ours(path, calibrate_method=method)
    assert path.read_bytes() == written
    stated, mine_scales, plain_scales = limits(path), scales(mine), scales(plain)
    for name in ("x", "h", "r", "f"):
        low, high = stated[{"h": "r"}.get(name, name)]  # what saturates takes the range of its Relu
        if name in mine_scales:
            assert mine_scales[name] == pytest.approx((max(high, 0) - min(low, 0)) / 255, rel=1e-6)
        if name in plain_scales:
            assert mine_scales[name] == plain_scales[name]
    assert {"x", "r", "f"} <= mine_scales.keys()


@newest
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_onnxruntime_reads_what_we_wrote(method: CalibrationMethod, tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    mine = ours(path, feeds(), calibrate_method=method)
    written = path.read_bytes()
    plain = theirs(tmp_path, path, None, calibrate_method=method)
    assert path.read_bytes() == written
    assert scales(plain).keys() >= scales(mine).keys()
    for name, scale in scales(mine).items():
        assert scales(plain)[name] == pytest.approx(scale, rel=1e-6)
    (sample,) = feeds(1)
    assert sqnr_db(run_model(network(), sample)["y"], run_model(plain, sample)["y"]) > 20


@newest
def test_minmax_files_are_the_same(tmp_path: Path) -> None:
    """Least and greatest values are exact, so both write the same ranges."""
    theirs(tmp_path, tmp_path / "theirs.json", Reader(feeds()))
    ours(tmp_path / "ours.json", feeds())
    assert limits(tmp_path / "ours.json").items() >= limits(tmp_path / "theirs.json").items()


@newest
def test_at_onnxruntimes_door(tmp_path: Path) -> None:
    """A call that asks for something of ours; ``None`` for the reader once the file is there."""
    path = tmp_path / "ranges.json"
    onnx.save(network(), str(tmp_path / "float.onnx"))
    made = []
    for reader in (Reader(feeds()), None):
        with attached():
            ort_quantization.quantize_static(
                tmp_path / "float.onnx",
                tmp_path / "q.onnx",
                reader,
                calibration_cache_path=path,
                extra_options={"Target": "cpu"},
                **TYPES,
            )
        made.append(content(onnx.load(str(tmp_path / "q.onnx"))))
    assert made[0] == made[1] == content(ours(path))
    with attached():  # nothing of ours is asked for: onnxruntime's own code
        ort_quantization.quantize_static(
            tmp_path / "float.onnx", tmp_path / "p.onnx", None, calibration_cache_path=path, **TYPES
        )
    assert content(onnx.load(str(tmp_path / "p.onnx"))) == content(theirs(tmp_path, path))


# ---------------------------------------------------------------------- what does not fit


def _edited(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        payload = json.loads(path.read_text())
        change(payload)
        path.write_text(json.dumps(payload))

    return edit


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


NAN = float("nan")
MISFITS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (_folder, "is not a file"),
    "no JSON": (lambda path: path.write_text("{"), "not a calibration cache .*delete it"),
    "JSON too deep": (lambda path: path.write_text('{"a":' * 100_000), "not a calibration cache .*RecursionError"),
    "another JSON": (lambda path: path.write_text("[1, 2]"), "not a calibration cache"),
    "no data": (_edited(lambda payload: payload.pop("data")), "not a calibration cache .*'data'"),
    "a range cut off": (_edited(lambda payload: payload["data"]["x"].pop("highest")), "not a .*'highest'"),
    "an empty range": (_edited(lambda payload: payload["data"]["x"]["lowest"].update(data=[])), "not a calibration"),
    "a word for a number": (_edited(lambda payload: payload["data"]["x"].update(lowest="low")), "not a calibration"),
    "another method": (
        _edited(lambda payload: payload["calibration_method"].update(value="CalibrationMethod.Entropy")),
        "made with CalibrationMethod.Entropy, but calibrate_method is CalibrationMethod.MinMax; delete it",
    ),
    "an unknown method": (_edited(lambda payload: payload["calibration_method"].update(value="Best")), "not a .*Best"),
    "a missing tensor": (_edited(lambda payload: payload["data"].pop("r")), "no range of the tensor r: .*delete it"),
    "SmoothQuant": (_edited(lambda payload: payload.update(smooth_quant=True)), "SmoothQuant.*delete it"),
    "NaN": (_edited(lambda payload: payload["data"]["x"]["lowest"].update(data=NAN)), r"range of x is \[nan"),
    "upside down": (_edited(lambda payload: payload["data"]["x"]["lowest"].update(data=1e6)), r"x is \[1e\+06"),
}


@pytest.mark.parametrize(("spoil", "message"), MISFITS.values(), ids=MISFITS.keys())
def test_a_file_that_does_not_fit_is_named(spoil: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    ours(path, feeds())
    spoil(path)
    asked: list[int] = []

    def reader() -> Iterator[dict[str, np.ndarray]]:
        for number, feed in enumerate(feeds()):
            asked.append(number)
            yield feed

    with pytest.raises(CalibrationError, match=message) as caught:
        ours(path, reader())
    assert str(path) in str(caught.value)
    assert asked == [], "calibration had begun"


def test_a_file_of_another_model_is_named(tmp_path: Path) -> None:
    other = graph(
        "t (float[1, 4] x) => (float[1, 5] q) { p = MatMul(x, w) q = Relu(p) }", constants={"w": normal(1, 4, 5)}
    )
    ours(tmp_path / "ranges.json", feeds())
    with pytest.raises(CalibrationError, match="no range of the tensor q"):
        ours(tmp_path / "ranges.json", None, other)


def test_calls_that_cannot_have_one(tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    with pytest.raises(UnsupportedError, match=r"MinMSE.*CalibrationCache"):
        ours(path, feeds(), calibrate_method=PowerOfTwoMethod.MinMSE)
    with pytest.raises(UnsupportedError, match="EnableSubgraph use"):
        ours(path, feeds(), extra_options={"EnableSubgraph": True})
    with pytest.raises(CalibrationError, match="does not exist; give one"):
        ours(path)
    with pytest.raises(OptionTypeError, match="calibration_cache_path takes the path of a file, not 3"):
        ours(3, feeds())  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="ranges of one method"):
        calibrate(network(), feeds(), calibration_cache_path=path)
    assert not path.exists()
    ours(path, feeds())
    with pytest.raises(OptionError, match="both give ranges"):
        ours(path, calibration=calibrate(network(), feeds()))


def test_a_call_that_fails_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Iterator[dict[str, np.ndarray]]:
        yield from feeds(2)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        ours(tmp_path / "ranges.json", broken())
    assert list(tmp_path.iterdir()) == []

    def fail(*_: Any) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        ours(tmp_path / "ranges.json", feeds())
    assert list(tmp_path.iterdir()) == []


def test_wide_types_and_overrides_come_after_the_range(tmp_path: Path) -> None:
    path = tmp_path / "ranges.json"
    ours(path, feeds())
    wide = ours(path, quant_format=VitisQuantFormat.QDQ, activation_type=VitisQuantType.QInt16)
    assert any(node.op_type == "VitisQuantizeLinear" for node in wide.graph.node)
    stated = {"TensorQuantOverrides": {"x": [{"rmin": 0.0, "rmax": 255.0}]}}
    assert scales(ours(path, extra_options=stated))["x"] == 1.0


def test_a_pad_takes_the_range_of_its_data(tmp_path: Path) -> None:
    """Which the file states under the name of the data."""
    model = graph(
        """t (float[1, 2, 4, 4] x) => (float[1, 2, 2, 2] y) {
            r = Relu(x)
            p = Pad(r, pads, low)
            y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(p)
        }""",
    )
    model.graph.initializer.extend(
        [
            helper.make_tensor("pads", TensorProto.INT64, [8], [0, 0, 0, 0, 0, 0, 1, 1]),
            helper.make_tensor("low", TensorProto.FLOAT, [], [-1e5]),
        ]
    )
    samples = [random_feeds(model, seed) for seed in range(3)]
    first = ours(tmp_path / "ranges.json", samples, model)
    assert content(ours(tmp_path / "ranges.json", samples, model)) == content(first)
