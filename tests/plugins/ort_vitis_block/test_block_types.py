"""A type is one declaration, in this package or in another."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from ort_vitis_block import BLOCK_TYPES, BlockType
from ort_vitis_plugin.errors import OptionError

STORED_BITS = {
    "QBFP": 9,
    "QBFP16": 9,
    "QMX9": 9,
    "QMX6": 6,
    "QMX4": 4,
    "QMXINT8": 8.25,
    "QMXFP8E4M3": 8.25,
    "QMXFP8E5M2": 8.25,
    "QMXFP6E3M2": 6.25,
    "QMXFP6E2M3": 6.25,
    "QMXFP4": 4.25,
}


def test_names_say_what_is_stored() -> None:
    assert {name: declared.stored_bits for name, declared in BLOCK_TYPES.items()} == STORED_BITS


def test_an_alias_is_the_same_type() -> None:
    assert dataclasses.replace(BLOCK_TYPES["QBFP"], name="QBFP16") == BLOCK_TYPES["QBFP16"]


def test_ops_and_attributes() -> None:
    bfp, mx = BLOCK_TYPES["QMX6"], BLOCK_TYPES["QMXFP4"]
    assert (bfp.op_type(), bfp.op_type("com.amd.quark")) == ("BFPFixNeuron", "BFPQuantizeDequantize")
    assert (mx.op_type(), mx.op_type("com.amd.quark")) == ("MXFixNeuron", "MXQuantizeDequantize")
    assert bfp.attributes(-1) == {
        "axis": -1,
        "bfp_method": "to_bfp_prime",
        "bit_width": 13,
        "block_size": 16,
        "rounding_mode": 2,
        "sub_block_shift_bits": 1,
        "sub_block_size": 2,
    }
    assert mx.attributes(0) == {"axis": 0, "block_size": 32, "element_dtype": "fp4_e2m1", "rounding_mode": 2}


def test_more_bits_lose_less() -> None:
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)

    def error(declared: BlockType) -> float:
        return float(np.square(declared.quantize_dequantize(x, 1) - x).mean())

    by_bits = [error(BlockType("Q", "to_bfp", block=4, bits=bits)) for bits in range(10, 24)]
    assert all(fine < coarse / 3 for coarse, fine in itertools.pairwise(by_bits))
    by_block = [error(BlockType("Q", "to_bfp", block=block, bits=16)) for block in (1, 4, 16, 64)]
    assert by_block == sorted(by_block)


@pytest.mark.parametrize(
    ("kind", "block", "bits", "message"),
    [
        ("bfp", 8, 16, "QMINE has the kind 'bfp'; it must be one of to_bfp, to_bfp_prime, int8"),
        ("to_bfp", 0, 16, "QMINE has blocks of 0; the block must be at least 1"),
        ("to_bfp_prime", 9, 16, "QMINE has blocks of 9; the block must be a multiple of 2"),
        ("to_bfp", 8, 9, "QMINE has 9 bits; to_bfp takes 10, 11"),
        ("fp4_e2m1", 32, 5, "QMINE has 5 bits; fp4_e2m1 takes 4"),
    ],
)
def test_what_the_ops_cannot_do_is_refused(kind: str, block: int, bits: int, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        BlockType("QMINE", kind, block=block, bits=bits)
