"""A change adds nodes, sets options one by one, and replaces the rest."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import ModelProto

from ort_vitis_plugin.errors import OptionError
from ort_vitis_plugin.options.request import Request
from ort_vitis_plugin.request.change import changed_keywords, changed_request

CHANGE = {"nodes_to_exclude": ["b", "c"], "per_channel": True, "extra_options": {"X": 1, "Y": None}}


def test_keywords_after_a_change() -> None:
    given = {"nodes_to_exclude": ["a", "b"], "extra_options": {"Y": 2, "Z": 3}}
    found = changed_keywords(given, CHANGE)
    assert found == {"nodes_to_exclude": ["a", "b", "c"], "per_channel": True, "extra_options": {"X": 1, "Z": 3}}
    assert given == {"nodes_to_exclude": ["a", "b"], "extra_options": {"Y": 2, "Z": 3}}


def test_a_request_after_a_change() -> None:
    asked = Request(
        *(ModelProto(), None, None, "QDQ", "MinMSE", "QInt8", "QInt8"),
        nodes_to_exclude=("a",),
        given={"Y": 2},
        default=frozenset({"per_channel", "weight_type"}),
    )
    found = changed_request(asked, CHANGE)
    assert (found.nodes_to_exclude, found.per_channel, found.given) == (("a", "b", "c"), True, {"X": 1})
    assert found.default == {"weight_type"}
    with pytest.raises(OptionError, match="model is not an argument that a change can hold"):
        changed_request(asked, {"model": "other.onnx"})
