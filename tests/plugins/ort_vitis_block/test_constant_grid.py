"""Weights in blocks lie on multiples that the op gives back as they are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import helper

from ort_vitis_block import BLOCK_TYPES
from ort_vitis_block.constant_grid import constant_grid
from ort_vitis_block.op_attributes import QUARK_DOMAIN, VAI_DOMAIN

if TYPE_CHECKING:
    from onnx import NodeProto

    from ort_vitis_block.block_types import BlockType

INTEGERS = [name for name, kind in BLOCK_TYPES.items() if not kind.is_mx or kind.kind == "int8"]
SHAPES = [((7,), 0), ((5, 40), 1), ((40, 5), 0), ((6, 33, 3, 3), 1), ((2, 3), -1)]


def node_of(kind: BlockType, axis: int, domain: str = VAI_DOMAIN) -> NodeProto:
    return helper.make_node(kind.op_type(domain), ["w"], ["y"], domain=domain, **kind.attributes(axis))


def weights(shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Of all magnitudes, some of them 0, some powers of two."""
    draw = np.random.default_rng(seed)
    found = draw.standard_normal(shape) * np.exp2(draw.integers(-12, 3, shape))
    found.flat[::7] = 0
    found.flat[3::11] = np.exp2(draw.integers(-5, 5, found.flat[3::11].shape))
    return found.astype(np.float32)


@pytest.mark.parametrize("domain", [VAI_DOMAIN, QUARK_DOMAIN])
@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_nearest_multiples_are_what_the_op_gives(name: str, shape: tuple[int, ...], axis: int, domain: str) -> None:
    kind, w = BLOCK_TYPES[name], weights(shape)
    grid = constant_grid(node_of(kind, axis, domain), w)
    assert grid is not None
    nearest = np.clip(np.rint(w / grid.step), grid.low, grid.high) * grid.step
    given = kind.quantize_dequantize(w, axis)
    # The code below the least one of the grid is a power of two; a block of it alone would have another exponent.
    inside = given >= grid.low * grid.step
    assert inside.mean() > 0.98
    np.testing.assert_array_equal(nearest[inside], given[inside])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_every_multiple_passes_the_op_unchanged(name: str, shape: tuple[int, ...], axis: int) -> None:
    kind = BLOCK_TYPES[name]
    grid = constant_grid(node_of(kind, axis), weights(shape))
    assert grid is not None
    draw = np.random.default_rng(1)
    for low, high in (
        (grid.low, grid.high),
        (grid.low, grid.low),
        (grid.high, grid.high),
        (-1, 1),
        (0, grid.high // 2),
    ):
        codes = draw.integers(low, high + 1, shape)
        chosen = (codes * grid.step).astype(np.float32)
        np.testing.assert_array_equal(kind.quantize_dequantize(chosen, axis), chosen)


def test_there_is_none_for_what_has_no_even_steps() -> None:
    w = weights((4, 32))
    for name in set(BLOCK_TYPES) - set(INTEGERS):
        assert constant_grid(node_of(BLOCK_TYPES[name], 1), w) is None
    node = node_of(BLOCK_TYPES["QMXINT8"], 1)
    assert constant_grid(helper.make_node("MXFixNeuron", ["w"], ["y"], domain="of.another"), w) is None
    assert constant_grid(node, w[:1, :1]) is None
    w[0, 0] = np.inf
    assert constant_grid(node, w) is None


def test_tiny_blocks_keep_normal_numbers() -> None:
    node = node_of(BLOCK_TYPES["QBFP16"], 1)
    grid = constant_grid(node, np.full((2, 8), 1e-38, np.float32))
    assert grid is not None
    assert (grid.step >= np.finfo(np.float32).tiny).all()
