"""Readers of samples: the caller's in any form, as any model takes them, or random ones for a quick try."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from .convert_feed import CHANNELS_LAST, Feed, adapt_feed, adapter_to, channels_last
from .data_objects import CalibrationData, calibration_data, reader_for
from .pictures import Pictures
from .random_reader import RandomDataReader
from .samples import Samples

__all__ = [
    "CHANNELS_LAST",
    "CalibrationData",
    "Feed",
    "Pictures",
    "RandomDataReader",
    "Samples",
    "adapt_feed",
    "adapter_to",
    "calibration_data",
    "channels_last",
    "reader_for",
]
