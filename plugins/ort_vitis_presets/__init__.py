"""Configurations by the names that scripts of AMD's tools use."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .eight_bits import EIGHT_BITS
from .half_floats import HALF_FLOATS
from .sixteen_bits import SIXTEEN_BITS


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield from EIGHT_BITS
    yield from SIXTEEN_BITS
    yield from HALF_FLOATS
