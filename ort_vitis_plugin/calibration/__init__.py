"""A calibration is the sketches of a model's tensors: made once, on one machine or many, and asked by any method."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .artefact import Calibration
from .digest import fingerprint
from .engine import calibrate
from .workers import Executor

__all__ = ["Calibration", "Executor", "calibrate", "fingerprint"]
