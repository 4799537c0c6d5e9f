"""onnxruntime's calibration_cache_path: its files serve our calls, and ours serve its calls."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime.quantization as ort_quantization
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationMethod, QuantType

from ort_vitis_plugin import VitisQuantFormat, VitisQuantType, calibrate, quantize_static
from ort_vitis_plugin.entry.attach import attached
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from ort_vitis_plugin.testing import graph, random_feeds, run_model
from tests.ort_vitis_plugin.calibration.ranges_files import (
    METHODS,
    TYPES,
    Reader,
    content,
    feeds,
    limits,
    network,
    newest,
    normal,
    ours,
    scales,
    theirs,
)

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
