"""Sketches taken from a running model equal sketches of the same tensors computed by plain ORT."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper

from ort_vitis_plugin import VitisQuantFormat, VitisQuantType, quantize_static
from ort_vitis_plugin.calibration.observe import NonFinite, Observer, Sample, observe
from ort_vitis_plugin.custom_ops.library import find_library, register
from ort_vitis_plugin.errors import CalibrationError, UnknownNameError
from ort_vitis_plugin.onnx_io import external_weights
from ort_vitis_plugin.sketch import Sketch
from ort_vitis_plugin.sketch import engine as sketch_engine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
from tests.ort_vitis_plugin.calibration.observe.networks import FLOATS, TWO_INPUTS, feeds, parsed


@pytest.fixture(autouse=True, params=["observers", "fetched"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with observers in the session and, as without the library, with fetched outputs."""
    if request.param == "fetched":
        monkeypatch.setattr(sketch_engine, "library", lambda: None)
    elif not sketch_engine.library():
        pytest.skip("the custom-op library was not built")
    return str(request.param)


def raw(model: ModelProto) -> ModelProto:
    for tensor in model.graph.initializer:
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    return model


def by_hand(model: ModelProto, tensors: list[str], samples: list[dict[str, Any]]) -> dict[str, Sketch]:
    """The same, through np.concatenate and a session of its own."""
    copy = ModelProto()
    copy.CopyFrom(model)
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in tensors if name not in ("x", "y", "out"))
    session = ort.InferenceSession(copy.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    sketches = {name: Sketch() for name in tensors}
    for feed in samples:
        values = dict(zip(names, session.run(names, feed), strict=True)) | feed
        for name in tensors:
            sketches[name].add(values[name])
    return sketches


def test_several_inputs_and_a_ragged_last_batch() -> None:
    model, samples = parsed(TWO_INPUTS), feeds(5, 5, 2)
    seen = observe(model, FLOATS, iter(samples))
    assert seen == by_hand(model, FLOATS, samples)
    assert seen.samples == 3
    assert seen["s"].count == 12 * 4


def test_the_model_is_not_changed() -> None:
    model = parsed(TWO_INPUTS)
    before = model.SerializeToString()
    observe(model, FLOATS, feeds(2))
    assert model.SerializeToString() == before


def test_only_a_graph_input_and_no_tensor_at_all() -> None:
    model, samples = parsed(TWO_INPUTS), feeds(3)
    assert observe(model, ["x"], samples) == by_hand(model, ["x"], samples)
    assert observe(model, [], samples) == {}


def test_a_constant_is_counted_once() -> None:
    seen = observe(parsed(TWO_INPUTS), ["w", "r"], feeds(1, 1, 1))
    assert (seen["w"].count, seen["w"].maximum) == (12, 12.5)
    assert seen["r"].count == 12


def test_each_sample_apart() -> None:
    model, samples = parsed(TWO_INPUTS), feeds(2, 3)
    apart: list[Sample] = []
    seen = observe(model, FLOATS, samples, on_sample=apart.append, apart=True)
    assert [sample.index for sample in apart] == [0, 1]
    for sample, feed in zip(apart, samples, strict=True):
        assert sample.sketches == by_hand(model, FLOATS, [feed])
    assert seen == by_hand(model, FLOATS, samples)


def test_non_finite_values_name_tensor_and_sample() -> None:
    samples = feeds(2, 2, 2)
    samples[1]["x"][0, 0] = np.nan
    samples[2]["y"][1] = np.inf
    told: list[tuple[NonFinite, ...]] = []
    seen = observe(
        parsed(TWO_INPUTS), ["x", "y", "s"], samples, on_sample=lambda sample: told.append(sample.non_finite)
    )
    assert seen.non_finite == [
        NonFinite("x", 1, 1, 0),
        NonFinite("s", 1, 1, 0),
        NonFinite("y", 2, 0, 4),
        NonFinite("s", 2, 0, 4),
    ]
    assert [len(each) for each in told] == [0, 2, 2]
    assert seen["s"].count == 24 - 5


def test_a_callback_may_stop() -> None:
    def stop(sample: Sample) -> None:
        if sample.non_finite:
            raise CalibrationError("enough")

    samples = feeds(1, 1)
    samples[0]["x"][:] = np.nan
    with pytest.raises(CalibrationError, match="enough"):
        observe(parsed(TWO_INPUTS), ["x"], samples, on_sample=stop)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE])
def test_tensors_of_other_float_types(kind: int) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["y"], to=kind),
        helper.make_node("Cast", ["y"], ["z"], to=TensorProto.FLOAT),
    ]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"])] for name in "xz"]
    model = helper.make_model(helper.make_graph(nodes, "g", *ends), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    dtype = {TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}.get(kind, np.float32)
    expected = Sketch()
    expected.add(values.astype(dtype))
    assert observe(model, ["y"], [{"x": values}])["y"] == expected


def test_float16_and_bfloat16_inputs() -> None:
    for kind, dtype in ((TensorProto.FLOAT16, np.float16), (TensorProto.BFLOAT16, ml_dtypes.bfloat16)):
        nodes = [helper.make_node("Cast", ["x"], ["z"], to=TensorProto.FLOAT)]
        ends = [[helper.make_tensor_value_info(*each, ["n"])] for each in (("x", kind), ("z", TensorProto.FLOAT))]
        model = helper.make_model(helper.make_graph(nodes, "g", *ends), opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        values = np.random.default_rng(0).standard_normal(100).astype(dtype)
        seen = observe(model, ["x", "z"], [{"x": values}])
        assert seen["x"] == seen["z"]
        assert seen["x"].maximum == float(values.astype(np.float32).max())


def test_tensors_in_bodies_are_left_out_and_those_around_are_seen() -> None:
    model = parsed(
        """
        <ir_version: 8, opset_import: ["": 17]>
        g (float[2] x, bool c) => (float[2] out)
        {
            a = Relu(x)
            b = If (c) <
                then_branch = yes () => (float[2] t) { t = Add(a, a) },
                else_branch = no () => (float[2] e) { e = Sub(a, x) }
            >
            out = Neg(b)
        }
        """
    )
    samples = [{"x": np.array([1, -2], np.float32), "c": np.array(flag)} for flag in (True, False)]
    seen = observe(model, ["a", "t", "b", "out"], samples)
    assert set(seen) == {"a", "b", "out"}
    assert (seen["b"].minimum, seen["b"].maximum) == (0, 2)


@pytest.mark.parametrize("folder", ["plain", "with space and ü"])
def test_a_path_and_external_data(tmp_path: Path, folder: str) -> None:
    model, samples = raw(parsed(TWO_INPUTS)), feeds(4, 4)
    place = tmp_path / folder
    place.mkdir()
    onnx.save(model, str(place / "a.onnx"))
    onnx.save(raw(parsed(TWO_INPUTS)), str(place / "b.onnx"), save_as_external_data=True, size_threshold=0)
    files = sorted(place.iterdir())
    assert len(files) == 3
    expected = by_hand(model, FLOATS, samples)
    for path in (place / "a.onnx", str(place / "b.onnx")):
        assert observe(path, FLOATS, samples) == expected
        assert observe(path, ["w"], samples)["w"].maximum == 12.5
    assert sorted(place.iterdir()) == files


def test_large_weights_are_handed_over_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_weights, "LARGE", 8)
    model = raw(parsed(TWO_INPUTS))
    samples = feeds(4)
    before = model.SerializeToString()
    assert observe(model, FLOATS, samples) == by_hand(model, FLOATS, samples)
    assert model.SerializeToString() == before


def test_string_inputs_are_left_alone() -> None:
    strings = helper.make_tensor_value_info("t", TensorProto.STRING, [None])
    model = parsed(TWO_INPUTS)
    model.graph.input.append(strings)
    model.graph.node.append(helper.make_node("Identity", ["t"], ["u"]))
    model.graph.output.append(helper.make_tensor_value_info("u", TensorProto.STRING, [None]))
    samples: list[dict[str, Any]] = [{**feed, "t": np.array(["a", "bc"], object)} for feed in feeds(2, 1)]
    assert observe(model, FLOATS, samples) == by_hand(model, FLOATS, samples)


def test_session_options_can_be_set() -> None:
    seen: list[ort.SessionOptions] = []
    observe(parsed(TWO_INPUTS), ["r"], feeds(1), configure=seen.append)
    assert len(seen) == 1


def test_what_cannot_be_observed_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="rr; did you mean r"):
        observe(parsed(TWO_INPUTS), ["rr"], feeds(1))
    with pytest.raises(CalibrationError, match=r"tensor n is tensor\(int64\)"):
        observe(parsed(TWO_INPUTS), ["n"], feeds(1))


def test_a_reader_that_raises_names_the_sample() -> None:
    def reader() -> Iterator[dict[str, np.ndarray]]:
        yield from feeds(1, 1)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone") as caught:
        observe(parsed(TWO_INPUTS), ["s"], reader())
    assert caught.value.__notes__ == ["raised by the calibration data reader at sample 2"]


def test_a_sample_that_does_not_fit_names_itself() -> None:
    samples = feeds(1, 1)
    samples[1]["x"] = np.zeros((1, 7), np.float32)
    with pytest.raises(CalibrationError, match="calibration sample 1"):
        observe(parsed(TWO_INPUTS), ["s"], samples)
    with pytest.raises(CalibrationError, match="calibration sample 0"):
        observe(parsed(TWO_INPUTS), ["s"], [{"x": samples[0]["x"]}])


def test_each_observer_follows_the_node_whose_output_it_sees(engine: str, tmp_path: Path) -> None:
    """Deepest first in the file makes ORT run each one at once, so that activations do not pile up."""
    if engine == "fetched":
        pytest.skip("there are no observers")
    profile = str(tmp_path / "profile")

    def configure(options: ort.SessionOptions) -> None:
        options.enable_profiling = True
        options.profile_file_prefix = profile

    nodes = [helper.make_node("Sin", [f"t{at}"], [f"t{at + 1}"], name=f"sin{at}") for at in range(6)]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"])] for name in ("t0", "t6")]
    model = helper.make_model(helper.make_graph(nodes, "g", *ends), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    names = [f"t{at}" for at in range(1, 7)]
    observe(model, names, [{"t0": np.ones(3, np.float32)}], configure=configure)
    gc.collect()
    events = json.loads(next(tmp_path.glob("profile*.json")).read_text())
    order = [event["name"] for event in events if event["name"].endswith("_kernel_time")]
    expected = [name for at in range(6) for name in (f"sin{at}_kernel_time", f"observe t{at + 1}_kernel_time")]
    assert order == expected


AZURE = "AzureExecutionProvider"


@pytest.mark.skipif(AZURE not in ort.get_available_providers(), reason="this onnxruntime has only the CPU")
def test_other_providers_fetch_the_tensors_for_the_same_sketches() -> None:
    """Observers run on the CPU alone; elsewhere the tensors come back and are counted here."""
    model, samples = parsed(TWO_INPUTS), feeds(3, 2)
    observer = Observer(model, FLOATS, providers=[AZURE, "CPUExecutionProvider"])
    assert observer._probe.observers == []
    assert observer._session.get_providers() == [AZURE, "CPUExecutionProvider"]
    assert observer.run(samples) == by_hand(model, FLOATS, samples)
    assert observe(model, FLOATS, samples, providers=[AZURE, "CPUExecutionProvider"], apart=True) == by_hand(
        model, FLOATS, samples
    )


def test_a_model_that_contains_our_ops(engine: str) -> None:
    """Through their functions or, without those, through the library."""
    made = quantize_static(
        parsed(TWO_INPUTS), None, feeds(2), quant_format=VitisQuantFormat.QDQ, activation_type=VitisQuantType.QBFloat16
    ).model
    assert any(node.op_type == "VitisQuantizeLinear" for node in made.graph.node)
    tensors = [node.output[0] for node in made.graph.node if node.op_type == "VitisDequantizeLinear"][:3]
    expected = observe(made, tensors, feeds(4))
    assert all(expected[name].count for name in tensors)
    del made.functions[:]
    if find_library() is None:
        pytest.skip("the custom-op library was not built")
    assert observe(made, tensors, feeds(4), configure=register) == expected


def test_a_model_that_holds_the_name_of_an_observer() -> None:
    model = parsed(TWO_INPUTS.replace("s = Add", "observed_0 = Add").replace("Relu(s)", "Relu(observed_0)"))
    tensors = ["observed_0", "r", "out"]
    assert observe(model, tensors, feeds(3)) == by_hand(model, tensors, feeds(3))


def test_threads_do_not_change_a_bit() -> None:
    nodes = [helper.make_node("Tanh", ["x"], ["y"])]
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"])] for name in "xy"]
    model = helper.make_model(helper.make_graph(nodes, "g", *ends), opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    values = np.random.default_rng(0).standard_normal(700_001).astype(np.float32)
    samples = [{"x": values}, {"x": values[:100]}, {"x": values[:100_000]}]

    def seen(threads: int) -> bytes:
        def configure(options: ort.SessionOptions) -> None:
            options.intra_op_num_threads = threads

        return observe(model, ["y"], samples, configure=configure)["y"].to_bytes()

    assert len({seen(threads) for threads in (1, 2, 4, 4, 4)}) == 1
