"""Formats of AMD's tools: Vitis QDQ, FixNeuron, and scales of the form M / 2^N."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .fix_neuron import FIX_NEURON
from .int16_scale import INT16_SCALE
from .vitis_qdq import VITIS_QDQ, VitisQDQOptions


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield VitisQDQOptions
    yield VITIS_QDQ
    yield FIX_NEURON
    yield INT16_SCALE
