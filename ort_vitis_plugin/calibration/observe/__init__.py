"""Activations are counted sample by sample and none is kept, so memory does not grow with samples."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .direct_errors import Candidates, direct_errors
from .observation import Configure, Feed, NonFinite, Observation, Sample
from .observer import Observer, observe

__all__ = [
    "Candidates",
    "Configure",
    "Feed",
    "NonFinite",
    "Observation",
    "Observer",
    "Sample",
    "direct_errors",
    "observe",
]
