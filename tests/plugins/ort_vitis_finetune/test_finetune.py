"""Networks come nearer to their float selves, and what is not better is not taken."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ort_vitis_finetune import (
    ONLY_BIAS,
    FinetuneSettings,
    Simulation,
    finetune,
    simulation_of,
)
from ort_vitis_finetune.network_guard import TRIES
from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.api import CalibrationError, Graph
from ort_vitis_plugin.entry.quantize_static import prepared
from tests.models import networks
from tests.plugins.ort_vitis_finetune.chain import (
    Feeds,
    chain,
    chain_result,
    pictures,
    relative_error,
    rounded,
    session,
    with_result,
)
from tests.zoo.configurations import NPU_CNN

if TYPE_CHECKING:
    from pathlib import Path

    import onnxruntime as ort
    from onnx import ModelProto


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
