"""Errors can be caught as ours and as Python's own, and names like a wrong one are suggested."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin import errors
from ort_vitis_plugin.errors import QuantizationError, suggest

OURS = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, QuantizationError)]
OURS.remove(QuantizationError)


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_each_is_a_kind_that_callers_know(kind: type[Exception]) -> None:
    known = (ValueError, TypeError, OSError, RuntimeError, MemoryError)
    assert issubclass(kind, known)
    assert kind.__doc__


def test_suggestions_whatever_the_case() -> None:
    assert suggest("adjustshiftcut", ["AdjustShiftCut", "CLESteps"]) == "; did you mean AdjustShiftCut?"
    assert suggest("nothing", ["AdjustShiftCut"]) == ""
