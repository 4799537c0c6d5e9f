"""JSON has no infinity and no NaN: what is not finite is null."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def finite_or_none(value: float | None) -> float | None:
    """A number as JSON has it: None for one that is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def json_data(value: Any) -> Any:
    """Data as JSON has them, numpy's numbers among them; of what JSON has no form for, the text."""
    if isinstance(value, Mapping):
        return {str(key): json_data(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_data(entry) for entry in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return json_data(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
