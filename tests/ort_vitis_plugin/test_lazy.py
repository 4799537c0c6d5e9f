"""A name of a package loads its module when it is asked for, and no other name is there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.errors import ModelError
from ort_vitis_plugin.lazy import lazily


def test_names_are_loaded_from_their_homes() -> None:
    assert lazily("ort_vitis_plugin", {"ModelError": "errors"})("ModelError") is ModelError


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="module 'ort_vitis_plugin' has no attribute 'ModelError'"):
        lazily("ort_vitis_plugin", {})("ModelError")
