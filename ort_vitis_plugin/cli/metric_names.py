"""A metric has a name, or is a function in a file of the user's."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any


def metric_named(text: str) -> Any:
    """A metric's name, or the function that ``FILE.py:FUNCTION`` names.

    Raises:
        CalibrationError: there is no such file or function.
    """
    if ".py:" not in text:
        return text
    from ort_vitis_plugin.data_readers.picture_recipes import preprocess_named

    return preprocess_named(text)
