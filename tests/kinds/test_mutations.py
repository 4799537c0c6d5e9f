"""The same network written differently quantizes to the same function, or is refused by a typed error."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from functools import cache

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from ort_vitis_plugin import quantize_static
from ort_vitis_plugin.errors import QuantizationError
from ort_vitis_plugin.numerics import sqnr_db
from tests.models import networks

from .checks import CONFIGURATIONS, Feed, run_at, samples
from .graphs import GRAPHS
from .mutations import MUTATIONS

SAME = 60.0  # decibels between two quantized models
TRAINED = ("digits", "depthwise_skewed", "halves", "transformer")
ONE_BY_ONE = [name for name in GRAPHS if not name.startswith(("names: equal", "opsets: 7"))]
CONFIGURED = ("u8s8", "npu", "per channel", "documented default", "fix neuron")
REFUSED = ("ModelError", "UnsupportedError")  # before work; a SelfCheckError would be a wrong model of ours
SEEDS = range(500)
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


def _quantize(model: ModelProto, feeds: tuple[Feed, ...], configuration: str) -> ModelProto | str:
    try:
        return quantize_static(model, None, list(feeds), **CONFIGURATIONS[configuration]).model
    except QuantizationError as error:
        return type(error).__name__


def _mutated(model: ModelProto, seed: int) -> tuple[ModelProto, list[str]]:
    random = np.random.default_rng(seed)
    chosen = [list(MUTATIONS)[seed % len(MUTATIONS)]]
    chosen += [name for name in MUTATIONS if name not in chosen and random.random() < 0.15]
    # A function body or a branch hides its nodes from other mutations: these two come last.
    chosen.sort(key=lambda name: (name == "if", name == "functions"))
    for name in chosen:
        model = MUTATIONS[name](model, random)
    return model, chosen


def check(seed: int) -> None:
    name, configuration = _network(seed), CONFIGURED[seed % len(CONFIGURED)]
    model, feeds = _original(name)
    mutated, steps = _mutated(model, seed)
    what = f"{name}, {configuration}, {' + '.join(steps)}"
    expected, found = _quantized(name, configuration), _quantize(mutated, feeds, configuration)
    if isinstance(found, str):
        assert found in (expected, *REFUSED), f"{what}: {found}"
        return
    assert not isinstance(expected, str), f"{what}: {expected} without the mutation"
    pairs = zip(run_at(expected, feeds), run_at(found, feeds), strict=True)
    for wanted, got in pairs:
        assert list(wanted) == list(got), what
        for output, value in wanted.items():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.array_equal(value, got[output]):
                decibels = sqnr_db(value, got[output])
                assert decibels > SAME, f"{what}: {output} differs by {decibels:.1f} dB"


@pytest.mark.parametrize("seed", SEEDS[:QUICK])
def test_a_mutated_graph_gives_the_same_result(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[QUICK:])
def test_every_mutated_graph_gives_the_same_result(seed: int) -> None:
    check(seed)
