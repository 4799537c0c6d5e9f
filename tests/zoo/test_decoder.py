"""A language model with a cache of keys and values keeps its perplexity with weights of four bits, data in blocks."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.models import decoder, sentences

CLOSE = 1.02
SLOW = pytest.mark.slow
# Weights alone, by onnxruntime's operators that it makes of these pairs on loading.
BLOCKS = {"bits": 4, "block": 32, "format": "QDQ", "scale": "mse"}
DATA: dict[str, dict[str, Any]] = {
    "float": {},
    "bfloat16": {"quant_format": "BFPFixNeuron", "activation_type": "QBFloat16", "weight_type": "QBFloat16"},
    "BFP16": {"quant_format": "BFPFixNeuron", "activation_type": "QBFP16", "weight_type": "QBFP16"},
}


@cache
def float_perplexity() -> float:
    return decoder.perplexity(open_session(decoder.network()))


@cache
def quantized(data: str, weights: bool = True) -> Any:
    options = {"WeightOnly": BLOCKS} if weights else {}
    return quantize_static(decoder.network(), None, None, extra_options=options, **DATA[data])


def session(data: str, weights: bool = True) -> Any:
    return open_session(quantized(data, weights).model, [custom_ops.register])


def test_the_network_knows_its_language() -> None:
    assert 1.2 < float_perplexity() < 1.8


def test_reading_step_by_step_through_the_cache_is_the_same() -> None:
    opened = open_session(decoder.network())
    assert decoder.perplexity(opened, rows=8, step=8) == pytest.approx(decoder.perplexity(opened, rows=8), rel=1e-5)


@pytest.mark.parametrize("data", [pytest.param("float", marks=SLOW), pytest.param("bfloat16", marks=SLOW), "BFP16"])
def test_weights_of_four_bits_keep_the_perplexity(data: str) -> None:
    assert decoder.perplexity(session(data)) <= float_perplexity() * CLOSE


@pytest.mark.slow
@pytest.mark.parametrize("data", ["bfloat16", "BFP16"])
def test_data_in_blocks_keep_the_perplexity(data: str) -> None:
    assert decoder.perplexity(session(data, weights=False)) <= float_perplexity() * CLOSE


def test_the_cache_has_any_length() -> None:
    opened = session("BFP16")
    whole = decoder.perplexity(opened, rows=8)
    assert decoder.perplexity(opened, rows=8, step=16) == pytest.approx(whole, rel=0.01)
    ids = sentences.text(5, 7)[None]
    logits, key = opened.run(["logits", "present_k0"], {"ids": ids, **decoder.empty_cache()})
    assert (logits.shape, key.shape) == ((1, 7, len(sentences.LETTERS)), (1, decoder.HEADS, 7, decoder.SIZE))


def test_the_tied_head_has_the_codes_of_the_table() -> None:
    types = quantized("float").report.types
    assert types["table"] == types["head"] == "QInt4 in blocks of 32"


def test_masked_scores_share_no_exponent_with_the_others() -> None:
    result = quantized("BFP16", weights=False)
    assert {name for name in ("masked0", "masked1") if name in result.report.types} == set()
    assert result.report.not_data["masked0"]


@pytest.mark.slow
def test_onnxruntimes_own_tool_keeps_it_too() -> None:
    pytest.importorskip("onnx_ir")
    options = {"WeightOnly": {"bits": 4, "block": 32}}
    model = quantize_static(decoder.network(), None, None, extra_options=options).model
    names = [node.op_type for node in model.graph.node]
    # The table of letters; cosines and sines are looked up by position, and stay float.
    assert (names.count("MatMulNBits"), names.count("GatherBlockQuantized")) == (15, 1)
    assert decoder.perplexity(open_session(model)) <= float_perplexity() * CLOSE
    assert np.isfinite(decoder.perplexity(open_session(model), rows=2, step=1))
