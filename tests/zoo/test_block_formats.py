"""Trained networks in block formats: what onnxruntime computes is what numpy computes, and digits are still read."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ort_vitis_plugin import custom_ops, quantize_static
from ort_vitis_plugin.onnx_io.sessions import open_session
from tests.models import networks
from tests.zoo.configurations import BLOCKS
from tests.zoo.simulated import by_numpy

if TYPE_CHECKING:
    from ort_vitis_plugin.report.report import Result

NAMES = ("digits", "depthwise_skewed", "transformer")
CLOSE = 0.5  # decibels
# The share of digits that one digit in 500 stands for, twice.
NEAR = 0.005


@cache
def quantized(name: str, preset: str) -> Result:
    """Channels of very different size, which share exponents, are made equal first."""
    skewed = name == "depthwise_skewed"
    return quantize_static(networks.network(name), None, None, include_cle=skewed, extra_options={"Preset": preset})


@cache
def float_session(name: str) -> Any:
    return networks.session(networks.network(name))


SLOW = pytest.mark.slow


@pytest.mark.parametrize("preset", ["BFP16", pytest.param("MX9", marks=SLOW), pytest.param("MXINT8", marks=SLOW)])
@pytest.mark.parametrize("name", NAMES)
def test_accuracy_is_that_of_numpy(name: str, preset: str) -> None:
    feeds = networks.digits(name).evaluation[:6]
    exact = networks.logits(float_session(name), feeds)
    model = quantized(name, preset).model
    session = open_session(model, [custom_ops.register])
    found = networks.sqnr(exact, networks.logits(session, feeds))
    assert found == pytest.approx(
        networks.sqnr(exact, np.concatenate([outputs[0] for outputs in by_numpy(model, feeds)])), abs=CLOSE
    )
    assert found > 25


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["BFP16", "BF16_BFP16", "MX9", "MXINT8"])
@pytest.mark.parametrize("name", NAMES)
def test_scores_stay(name: str, preset: str) -> None:
    session = open_session(quantized(name, preset).model, [custom_ops.register])
    exact = networks.accuracy(float_session(name), name)
    assert networks.accuracy(session, name) >= exact - NEAR


@pytest.mark.slow
@pytest.mark.parametrize("preset", BLOCKS)
@pytest.mark.parametrize("name", NAMES)
def test_every_preset_reads_digits(name: str, preset: str) -> None:
    session = open_session(quantized(name, preset).model, [custom_ops.register])
    assert networks.accuracy(session, name) > (0.5 if preset == "MXFP4" else 0.85)
