"""Blocks of weights are settled or refused before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import pytest

from ort_vitis_plugin.errors import OptionError, OptionTypeError
from ort_vitis_plugin.request.weight_blocks import MAT_MUL_NBITS, QDQ, WeightBlocks, weight_blocks

REFUSED: dict[str, tuple[Any, str]] = {
    "bits": ({"bits": 3}, "bits is 3; it must be 4 or 8"),
    "a block that is no power": ({"block": 24}, "must be a power of two from 16 on"),
    "a small block": ({"block": 8}, "must be a power of two from 16 on"),
    "a truth for a block": ({"block": True}, "must be a power of two"),
    "scale": ({"scale": "least"}, "it must be 'max' or 'mse'"),
    "format": ({"format": "Q4"}, "it must be 'MatMulNBits' or 'QDQ'"),
    "symmetric": ({"symmetric": 1}, "it must be True or False"),
    "mse of onnxruntime's tool": ({"scale": "mse", "format": MAT_MUL_NBITS}, "use format 'QDQ'"),
    "accuracy of QDQ": ({"format": QDQ, "accuracy_level": 1}, "it is 0 to 4, with format"),
    "misspelt": ({"blok": 32}, "did you mean block"),
}


@pytest.mark.parametrize(("stated", "text"), REFUSED.values(), ids=REFUSED)
def test_refusals_name_the_entry_and_the_way_out(stated: Any, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        weight_blocks(stated)


def test_what_is_left_out_has_defaults() -> None:
    assert weight_blocks(None) is None
    assert weight_blocks({"bits": 8}) == WeightBlocks(bits=8)
    assert weight_blocks({"scale": "mse"}) == WeightBlocks(scale="mse", format=QDQ)
    assert str(WeightBlocks(symmetric=False)) == "QUInt4 in blocks of 32"
    with pytest.raises(OptionTypeError, match="takes a mapping"):
        weight_blocks([4, 32])  # type: ignore[arg-type]
