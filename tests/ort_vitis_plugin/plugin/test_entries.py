"""Keys have a short and a full name, and an entry knows its kind."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnxruntime.quantization import QuantFormat

from ort_vitis_plugin import VitisQuantFormat
from ort_vitis_plugin.plugin.entries import entries_of, full_name, name_of
from ort_vitis_plugin.plugin.manager import new_manager


def test_names_of_keys() -> None:
    assert (name_of(QuantFormat.QDQ), full_name(QuantFormat.QDQ)) == ("QDQ", "QuantFormat.QDQ")
    assert full_name(VitisQuantFormat.QDQ) != full_name(QuantFormat.QDQ)
    assert name_of(("a", "", "b")) == "a/b"
    assert full_name("plain") == "plain"


def test_bundled_entries_are_not_foreign() -> None:
    entries = entries_of(new_manager(entry_points=False))
    assert {entry.is_foreign for entry in entries} == {False}
    kinds = {entry.kind for entry in entries}
    assert {"Target", "Adjuster", "OptionGroup", "PositionMethod"} <= kinds
    assert {entry.family for entry in entries if entry.kind in ("PositionMethod", "RangeMethod")} == {"Method"}
