"""What rounding did to a plan, and constants can undo."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterator

from ort_vitis_plugin.api import Declaration, hookimpl

from .bias_correction import BIAS_CORRECTION


@hookimpl
def vitis_declare() -> Iterator[Declaration]:
    yield BIAS_CORRECTION
