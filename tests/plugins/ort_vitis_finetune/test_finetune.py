"""Networks come nearer to their float selves, and what is not better is not taken."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel

from ort_vitis_finetune import (
    ONLY_BIAS,
    Finetuned,
    FinetuneSettings,
    Grid,
    Simulation,
    finetune,
    result_file,
    simulation_of,
)
from ort_vitis_finetune.network_guard import TRIES
from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.api import CalibrationError, Graph
from ort_vitis_plugin.entry.quantize_static import prepared
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.models import networks
from tests.zoo.configurations import NPU_CNN

if TYPE_CHECKING:
    from pathlib import Path

    import onnxruntime as ort
    from onnx import ModelProto

Array = np.ndarray[Any, Any]
Feeds = list[dict[str, Array]]


def session(model: ModelProto) -> ort.InferenceSession:
    return open_session(model, [custom_ops.register], GraphOptimizationLevel.ORT_DISABLE_ALL)


def coarse(w: Array, bits: int = 4) -> Grid:
    """One power-of-two step that covers the weights."""
    high = (1 << bits - 1) - 1
    step = np.asarray(2.0 ** np.ceil(np.log2(np.abs(w).max() / high)), np.float32)
    return Grid(step, np.zeros((), np.int64), -high - 1, high)


def rounded(reference: ModelProto, *, coarser: int = 0) -> Simulation:
    """The network with weights of four bits and nothing else quantized; steps are 2^coarser too large."""
    graph, grids = Graph(reference), {}
    for node in graph.of_type("Conv", "ConvTranspose", "Gemm", "MatMul"):
        w = graph.array(node.input[1])
        assert w is not None
        grids[node.input[1]] = coarse(w).moved(-coarser)
        graph.put_initializer(numpy_helper.from_array(grids[node.input[1]].rounded(w), node.input[1]))
    return Simulation(graph.to_model(), grids)


def chain() -> ModelProto:
    """Conv, depthwise Conv, ConvTranspose, MatMul and Gemm behind each other, with a path around two of them."""
    draw = np.random.default_rng(0)
    node, value = helper.make_node, helper.make_tensor_value_info
    shapes = {"w1": (8, 3, 3, 3), "w2": (8, 1, 3, 3), "w3": (8, 8, 2, 2), "w4": (16, 12), "w5": (6, 8)}
    biases = {"b1": 8, "b2": 8, "b4": 12, "b5": 6}
    constants = [numpy_helper.from_array(draw.normal(size=s).astype(np.float32), n) for n, s in shapes.items()]
    constants += [numpy_helper.from_array(draw.normal(size=s).astype(np.float32), n) for n, s in biases.items()]
    nodes = [
        node("Conv", ["x", "w1", "b1"], ["c1"], "conv", pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], "relu"),
        node("Conv", ["r1", "w2", "b2"], ["c2"], "depthwise", group=8, pads=[1, 1, 1, 1]),
        node("Add", ["c2", "r1"], ["a2"], "add"),
        node("ConvTranspose", ["a2", "w3"], ["c3"], "transpose", strides=[2, 2]),
        node("MaxPool", ["c3"], ["p3"], "pool", kernel_shape=[2, 1], strides=[2, 1]),
        node("MatMul", ["p3", "w4"], ["m4"], "matmul"),
        node("Add", ["b4", "m4"], ["n4"], "added"),
        node("GlobalAveragePool", ["n4"], ["g4"], "mean"),
        node("Flatten", ["g4"], ["f4"], "flatten"),
        node("Gemm", ["f4", "w5", "b5"], ["y"], "gemm", transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [value("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [value("y", TensorProto.FLOAT, [1, 6])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def pictures(count: int, seed: int = 0) -> Feeds:
    """Smooth noise: neighbours are alike, as in pictures."""
    draw = np.random.default_rng(seed)
    return [{"x": np.cumsum(draw.normal(size=(1, 3, 8, 8)), axis=3).astype(np.float32)} for _ in range(count)]


def relative_error(reference: ModelProto, model: ModelProto, feeds: Feeds) -> float:
    one, other = session(reference), session(model)
    f = np.concatenate([one.run(["y"], feed)[0] for feed in feeds])
    q = np.concatenate([other.run(["y"], feed)[0] for feed in feeds])
    return float(np.sum((f - q) ** 2) / np.sum(f**2))


def with_result(simulation: Simulation, result: Finetuned) -> ModelProto:
    """The simulation (whose constants have the float network's names) with what was found."""
    graph = Graph(simulation.model)
    for name, array in {**result.weights, **result.biases}.items():
        graph.put_initializer(numpy_helper.from_array(array, name))
    return graph.to_model()


@cache
def chain_result() -> tuple[ModelProto, Simulation, Finetuned]:
    reference = chain()
    simulation = rounded(reference)
    return reference, simulation, finetune(reference, simulation, pictures(32), session)


def test_a_network_of_every_operator_comes_much_nearer_on_unseen_samples() -> None:
    reference, simulation, result = chain_result()
    assert {layer.node for layer in result.layers} == {"conv", "depthwise", "transpose", "matmul", "gemm"}
    unseen = pictures(32, 9)
    before = relative_error(reference, simulation.model, unseen)
    assert relative_error(reference, with_result(simulation, result), unseen) < before / 3
    assert result.after < result.before / 3


def test_what_was_found_lies_on_the_grid() -> None:
    _, simulation, result = chain_result()
    assert result.codes
    for name, codes in result.codes.items():
        grid = simulation.grids[name]
        assert grid.low <= codes.min() <= codes.max() <= grid.high
        np.testing.assert_array_equal(grid.values(codes), result.weights[name])
        np.testing.assert_array_equal(grid.nearest(result.weights[name]), codes)


def test_no_layer_is_taken_that_is_worse_on_held_out_samples() -> None:
    _, _, result = chain_result()
    assert all(layer.after <= layer.before for layer in result.layers)


def test_bias_correction_alone_changes_biases_alone() -> None:
    reference, simulation, whole = chain_result()
    result = finetune(reference, simulation, pictures(32), session, FinetuneSettings(candidates=ONLY_BIAS))
    assert result.biases.keys() <= {"b1", "b2", "b4", "b5"}
    assert result.biases
    assert not result.weights
    assert whole.after < result.after < result.before


def test_two_runs_give_the_same_bytes_with_tensors_in_files_too() -> None:
    reference, simulation, result = chain_result()
    again = finetune(reference, simulation, pictures(32), session, FinetuneSettings(memory=0))
    assert again.weights.keys() == result.weights.keys()
    for name, array in {**result.weights, **result.biases}.items():
        assert {**again.weights, **again.biases}[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("layers", [4, 8, 16])
def test_cost_is_linear_in_layers(layers: int) -> None:
    draw, nodes, last = np.random.default_rng(0), [], "x"
    constants = {f"w{at}": draw.normal(size=(3, 3, 1, 1)).astype(np.float32) for at in range(layers)}
    for name in constants:
        end = "y" if len(nodes) == 2 * layers - 2 else f"{name}_r"
        nodes += [helper.make_node("Conv", [last, name], [f"{name}_c"], f"conv_{name}")]
        nodes += [helper.make_node("Relu", [f"{name}_c"], [end], f"relu_{name}")]
        last = end
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 8, 8]) for name in "xy"]
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "deep", values[:1], values[1:], stored)
    reference = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    sizes = []

    def counting(model: ModelProto) -> ort.InferenceSession:
        sizes.append((model.graph.name, len(model.graph.node)))
        return session(model)

    finetune(reference, rounded(reference), pictures(4), counting)
    # Two walks up to the last layer's input; whole networks only to judge.
    assert sum(size for name, size in sizes if name == "piece") == 2 * 2 * (layers - 1)
    assert sum(name == "deep" for name, _ in sizes) <= 3 + TRIES


def test_a_network_that_is_exact_stays_as_it_is() -> None:
    reference = chain()
    grids = rounded(reference).grids
    exact = Graph(reference)
    for name, grid in grids.items():
        w = exact.array(name)
        assert w is not None
        exact.put_initializer(numpy_helper.from_array(grid.rounded(w), name))
    model = exact.to_model()
    result = finetune(model, Simulation(model, grids), pictures(8), session)
    assert not result.weights
    assert not result.biases
    assert result.after == result.before == 0


def test_weights_take_a_finer_position_where_their_layer_comes_nearer(tmp_path: Path) -> None:
    reference, bound = chain(), rounded(chain(), coarser=1)
    free = Simulation(bound.model, bound.grids, {"w1": (1, -1), "w3": (1, -1)})
    path = tmp_path / "result.npz"
    one, other = (finetune(reference, each, pictures(32), session, result_path=path) for each in (bound, free))
    assert one.moved == {}
    assert other.moved == {"w1": 1, "w3": 1}
    assert {layer.node for layer in other.layers if layer.moved} == {"conv", "transpose"}
    assert other.after < one.after
    for name in other.moved:
        grid = bound.grids[name].moved(1)
        assert np.array_equal(grid.values(other.codes[name]), other.weights[name])
    again = finetune(reference, free, pictures(32), session, result_path=path)
    assert again.reused
    assert again.moved == other.moved


def test_a_network_that_ends_in_softmax_is_judged_by_what_that_reads() -> None:
    reference = chain()
    reference.graph.node.append(helper.make_node("Softmax", ["y"], ["z"], "softmax"))
    reference.graph.output[0].name = "z"
    plain, ended = (finetune(each, rounded(each), pictures(16), session) for each in (chain(), reference))
    assert (ended.before, ended.after) == (plain.before, plain.after)


def test_what_makes_the_network_worse_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    from ort_vitis_finetune.candidates import Choice, Constants

    def spoiled(problem: Any, *_: Any) -> Choice:
        codes = np.zeros_like(problem.now.codes)
        return Choice("damping 1", Constants(codes, problem.grid.values(codes), problem.now.bias), 0.0, 1.0)

    monkeypatch.setitem(finetune.__globals__, "choose", spoiled)
    reference = chain()
    result = finetune(reference, rounded(reference), pictures(8), session)
    assert result.after == result.before
    assert (result.codes, result.weights, result.biases) == ({}, {}, {})
    assert {layer.reason for layer in result.layers} == {"undone: the network became worse"}


def test_where_the_end_makes_it_worse_the_beginning_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from ort_vitis_finetune.candidates import Choice, Constants, choose

    def spoiled(problem: Any, *arguments: Any) -> Choice:
        if problem.layer.node.name != "gemm":
            return choose(problem, *arguments)
        codes = np.zeros_like(problem.now.codes)
        return Choice("damping 1", Constants(codes, problem.grid.values(codes), problem.now.bias), 0.0, 1.0)

    monkeypatch.setitem(finetune.__globals__, "choose", spoiled)
    reference = chain()
    simulation = rounded(reference)
    result = finetune(reference, simulation, pictures(16), session)
    assert result.after < result.before
    assert result.weights.keys() == {"w1", "w2", "w3", "w4"}
    held_out = relative_error(reference, with_result(simulation, result), pictures(32, 9))
    assert held_out < relative_error(reference, simulation.model, pictures(32, 9))


def test_wide_layers_get_their_bias_corrected_and_say_so() -> None:
    reference = chain()
    result = finetune(reference, rounded(reference), pictures(16), session, FinetuneSettings(widest=26))
    conv = next(layer for layer in result.layers if layer.node == "conv")
    assert conv.candidate in ONLY_BIAS
    assert "27 weights per output" in conv.reason
    assert "w1" not in result.weights
    assert "w2" in result.weights


def test_shared_weights_are_left_and_named() -> None:
    reference = chain()
    reference.graph.node[2].input[1] = "w2"
    reference.graph.node.append(helper.make_node("Identity", ["w2"], ["z"], "reader"))
    reference.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [8, 1, 3, 3]))
    result = finetune(reference, rounded(reference), pictures(8), session)
    assert next(layer for layer in result.layers if layer.node == "depthwise").reason == "others read w2 too"
    assert "w2" not in result.weights


def test_constant_and_dead_inputs_are_survived() -> None:
    reference = chain()
    feeds: Feeds = [{"x": np.zeros((1, 3, 8, 8), np.float32)} for _ in range(8)]
    for number, feed in enumerate(feeds):
        feed["x"][:, 0] = number
    result = finetune(reference, rounded(reference), feeds, session)
    assert result.after <= result.before
    same = finetune(reference, rounded(reference), [feeds[1]] * 8, session)
    assert same.after <= same.before


def test_too_few_samples_say_how_many_would_do() -> None:
    reference = chain()
    with pytest.raises(CalibrationError, match=r"3 samples are too few.*at least 4, 32 are enough"):
        finetune(reference, rounded(reference), pictures(3), session)


def test_samples_that_are_not_finite_leave_the_layer() -> None:
    reference = chain()
    feeds = pictures(8)
    feeds[3]["x"][0, 0, 0, 0] = np.nan
    result = finetune(reference, rounded(reference), feeds, session)
    assert result.layers[0].reason == "its input is not finite"
    assert not result.weights


# ---------------------------------------------------------------------- interruption, file, progress


def test_progress_counts_layers() -> None:
    seen: list[tuple[str, int, int]] = []
    reference = chain()
    finetune(
        reference,
        rounded(reference),
        pictures(8),
        session,
        on_layer=lambda layer, done, total: seen.append((layer.node, done, total)),
    )
    assert [entry[1:] for entry in seen] == [(number, 5) for number in range(1, 6)]


@pytest.mark.parametrize("keep", [False, True])
def test_an_interruption_keeps_the_layers_done_where_asked(keep: bool) -> None:
    def interrupt(_: Any, done: int, __: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    reference = chain()
    settings = FinetuneSettings(keep_on_interrupt=keep)
    arguments = (reference, rounded(reference), pictures(8), session, settings)
    if not keep:
        with pytest.raises(KeyboardInterrupt):
            finetune(*arguments, on_layer=interrupt)
        return
    result = finetune(*arguments, on_layer=interrupt)
    assert result.interrupted
    assert [layer.node for layer in result.layers] == ["conv", "depthwise"]
    assert result.weights.keys() <= {"w1", "w2"}
    assert result.before > 0


def test_a_result_file_is_taken_for_the_same_and_for_nothing_else(tmp_path: Path) -> None:
    reference, path = chain(), tmp_path / "found.npz"
    simulation, feeds = rounded(reference), pictures(8)
    first = finetune(reference, simulation, feeds, session, result_path=path)
    written = path.stat().st_mtime_ns

    def none(_: ModelProto) -> ort.InferenceSession:
        raise AssertionError("nothing is run")

    second = finetune(reference, simulation, feeds, none, result_path=path)
    assert second.reused
    assert second.layers == first.layers
    assert second.weights.keys() == first.weights.keys()
    assert second.biases.keys() == first.biases.keys()
    for name, array in first.weights.items():
        assert second.weights[name].tobytes() == array.tobytes()
    assert path.stat().st_mtime_ns == written
    other = finetune(reference, simulation, pictures(8, 1), session, result_path=path)
    assert not other.reused
    assert list(tmp_path.iterdir()) == [path]


ANOTHER = io.BytesIO()
np.savez(ANOTHER, x=np.zeros(3))


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + bytes(40), ANOTHER.getvalue()])
def test_a_file_that_is_no_result_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "found.npz"
    path.write_bytes(content)
    with pytest.raises(CalibrationError, match="is no ResultFile of FastFinetune"):
        result_file.check(path)
    with pytest.raises(CalibrationError, match="is no ResultFile of FastFinetune"):
        finetune(chain(), rounded(chain()), pictures(8), session, result_path=path)
    assert path.read_bytes() == content


# ---------------------------------------------------------------------- quantized models


def test_a_quantized_model_gives_its_grids_and_computes_the_same() -> None:
    quantized = quantize_static(networks.network("digits"), None, networks.reader("digits", 8), **NPU_CNN).model
    simulation = simulation_of(quantized)
    reference = prepared(networks.network("digits"), **NPU_CNN)
    layers = [node for node in Graph(reference) if node.op_type in ("Conv", "Gemm")]
    assert len(layers) <= len(simulation.grids)
    feed = networks.digits("digits", 0, 3).evaluation
    np.testing.assert_array_equal(
        networks.logits(session(quantized), feed), networks.logits(session(simulation.model), feed)
    )


def test_the_digits_network_gains_decibels_on_unseen_digits() -> None:
    name = "digits"
    plain = {**NPU_CNN, "extra_options": {**NPU_CNN["extra_options"], "Recipe": "plain"}}
    quantized = quantize_static(networks.network(name), None, networks.reader(name, 24), **plain).model
    reference, simulation = prepared(networks.network(name), **NPU_CNN), simulation_of(quantized)
    result = finetune(reference, simulation, networks.digits(name, 24, 0).calibration, session)
    graph = Graph(simulation.model)
    nodes = {node.name: node for node in graph}
    found = {**result.weights, **result.biases}
    for node in Graph(reference):
        for at, constant in enumerate(node.input):
            if constant in found:
                graph.put_initializer(numpy_helper.from_array(found[constant], nodes[node.name].input[at]))
    feeds = networks.digits(name, 0, 100).evaluation
    exact = networks.logits(session(reference), feeds)
    before, after = (networks.sqnr(exact, networks.logits(session(m), feeds)) for m in (quantized, graph.to_model()))
    assert after > before + 0.5
