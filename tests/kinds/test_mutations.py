"""The same network written differently quantizes to the same function, or is refused by a typed error."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import QuantizationError
from ort_vitis_plugin.numerics.sqnr import sqnr_db
from tests.models import networks

from .checks import CONFIGURATIONS, Feed, run_at, samples
from .graphs import GRAPHS
from .mutations import LAST, MUTATIONS, OTHERS
from .rewriting import copied

SAME = 60.0  # decibels between two quantized models
NEAR = 3.0  # decibels that another network may lose against float; one with more left in float loses less
GOOD = 35.0  # decibels that are enough
TRAINED = ("digits", "depthwise_skewed", "halves", "transformer")
ONE_BY_ONE = [name for name in GRAPHS if not name.startswith(("names: equal", "opsets: 7"))]
CONFIGURED = ("u8s8", "npu", "per channel", "documented default", "fix neuron", "npu with cle", "qoperator", "npu raw")
REFUSED = ("ModelError", "UnsupportedError")  # before work; a SelfCheckError would be a wrong model of ours
SEEDS = range(600)
QUICK = 24


def _network(seed: int) -> str:
    if seed % 10 == 9:
        return TRAINED[seed // 10 % len(TRAINED)]
    return ONE_BY_ONE[(seed * 7) % len(ONE_BY_ONE)]


@cache
def _original(name: str) -> tuple[ModelProto, tuple[Feed, ...]]:
    if name in TRAINED:
        return onnx.load(networks.network(name)), tuple(networks.digits(name, 4, 0).calibration)
    model = GRAPHS[name]()
    return model, tuple(samples(model))


@cache
def _quantized(name: str, configuration: str) -> ModelProto | str:
    model, feeds = _original(name)
    return _quantize(model, feeds, configuration)


def _quantize(model: ModelProto | str, feeds: tuple[Feed, ...], configuration: str) -> ModelProto | str:
    arguments = CONFIGURATIONS[configuration]
    # Whether this CPU saturates depends on which nodes onnxruntime fuses.
    options = {**arguments.get("extra_options", {}), "AvoidSaturation": False}
    try:
        return quantize_static(model, None, list(feeds), **{**arguments, "extra_options": options}).model
    except QuantizationError as error:
        return type(error).__name__


def _mutated(model: ModelProto, seed: int) -> tuple[ModelProto, list[str]]:
    """One mutation after the other by the seed, and others by chance."""
    random = np.random.default_rng(seed)
    everything = MUTATIONS | OTHERS
    chosen = [list(everything)[seed % len(everything)]]
    chosen += [name for name in MUTATIONS if name not in chosen and random.random() < 0.08]
    chosen.sort(key=lambda name: LAST.index(name) if name in LAST else -1)
    for name in chosen:
        model = everything[name](model, random)
    return model, chosen


def _to_float(name: str, found: list[dict[str, np.ndarray]]) -> float:
    """The least SQNR of any output against the float model."""
    model, feeds = _original(name)
    unnamed = copied(model)
    for node in unnamed.graph.node:
        node.name = ""
    pairs = [
        (value, got[output])
        for wanted, got in zip(run_at(unnamed, feeds), found, strict=True)
        for output, value in wanted.items()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    ]
    return min((sqnr_db(wanted, got) for wanted, got in pairs), default=np.inf)


def check(seed: int) -> None:
    name, configuration = _network(seed), CONFIGURED[seed % len(CONFIGURED)]
    model, feeds = _original(name)
    mutated, steps = _mutated(model, seed)
    what = f"{name}, {configuration}, {' + '.join(steps)}"
    before = mutated.SerializeToString(deterministic=True)
    expected, found = _quantized(name, configuration), _quantize(mutated, feeds, configuration)
    assert mutated.SerializeToString(deterministic=True) == before, f"{what}: the caller's model was changed"
    if isinstance(found, str):
        assert found in (expected, *REFUSED), f"{what}: {found}"
        return
    assert not isinstance(expected, str), f"{what}: {expected} without the mutation"
    wanted, got = run_at(expected, feeds), run_at(found, feeds)
    if steps[-1] in OTHERS or steps[0] in OTHERS:
        decibels = _to_float(name, got)
        assert decibels >= min(_to_float(name, wanted) - NEAR, GOOD), f"{what}: {decibels:.1f} dB to float"
        return
    for one, other in zip(wanted, got, strict=True):
        assert list(one) == list(other)[: len(one)], what
        for output, value in one.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.array_equal(value, other[output]):
                decibels = sqnr_db(value, other[output])
                assert decibels > SAME, f"{what}: {output} differs by {decibels:.1f} dB"


@pytest.mark.parametrize("seed", SEEDS[:QUICK])
def test_a_mutated_graph_gives_the_same_result(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[QUICK:])
def test_every_mutated_graph_gives_the_same_result(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("name", ["shared: weight of Gemm with and without transB", "ends: an output twice read"])
def test_weights_in_another_file(name: str, tmp_path: Path) -> None:
    model, feeds = _original(name)
    path = str(tmp_path / "model.onnx")
    onnx.save(copied(model), path, save_as_external_data=True, size_threshold=0)
    expected, found = _quantized(name, "npu"), _quantize(path, feeds, "npu")
    assert isinstance(expected, ModelProto)
    assert isinstance(found, ModelProto)
    for one, other in zip(run_at(expected, feeds), run_at(found, feeds), strict=True):
        assert all(np.array_equal(one[output], other[output]) for output in one)
