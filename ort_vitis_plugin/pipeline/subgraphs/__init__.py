"""The bodies of If, Loop and Scan are graphs of their own: planned one by one, and written with pairs of their own.

What a body captures is settled outside: a tensor that the graph around it quantizes has the same parameters inside; a
constant is stored in the body as codes. A body that calibration never ran stays float.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .names import unique_names
from .observe import BodyWatch, watch
from .quantize import BodyQuantizer, call_for

__all__ = ["BodyQuantizer", "BodyWatch", "call_for", "unique_names", "watch"]
