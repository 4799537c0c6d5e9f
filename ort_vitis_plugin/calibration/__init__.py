"""A calibration is the sketches of a model's tensors: made once, on one machine or many, and asked by any method."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .calibration import Calibration
from .engine import calibration_of
from .fingerprint import fingerprint
from .workers import Executor

__all__ = ["Calibration", "Executor", "calibration_of", "fingerprint"]
