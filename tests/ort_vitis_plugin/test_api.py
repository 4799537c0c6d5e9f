"""Everything that a plugin may import is there; old names say what to write."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib

import pytest

from ort_vitis_plugin import api


def test_every_listed_name_is_there() -> None:
    assert [name for name in api.__all__ if not hasattr(api, name)] == []
    assert len(set(api.__all__)) == len(api.__all__)


@pytest.mark.parametrize(("old", "new"), [("Run", "Context")])
def test_old_names_say_what_to_write(old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=f"{old} is an old name; write {new}"):
        found = getattr(api, old)
    assert found is getattr(api, new)
    assert old not in api.__all__


def test_names_of_nothing() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        importlib.import_module("ort_vitis_plugin.api").Nothing  # noqa: B018
