"""Facts are written once, read back, and taken out of a model that they no longer speak of."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

from ort_vitis_plugin.emission.provenance import KEY, LEFT_OVER, forget_facts, record, recorded

FACTS = {"target": "cpu", "options": {"b": 1, "a": [2.5, None]}}


def model(**metadata: str) -> ModelProto:
    found = ModelProto()
    helper.set_model_props(found, metadata)
    return found


def test_what_is_recorded_is_read_back_and_the_rest_stays() -> None:
    made = model(author="somebody", **{LEFT_OVER: "onnxruntime.quant"})
    record(made, {"target": "old"})
    record(made, FACTS)
    assert recorded(made) == FACTS
    assert sorted(entry.key for entry in made.metadata_props) == ["author", KEY]


def test_what_the_caller_had_is_kept() -> None:
    made = model(**{LEFT_OVER: "mine"})
    record(made, FACTS, kept={LEFT_OVER})
    assert {entry.key for entry in made.metadata_props} == {LEFT_OVER, KEY}


def test_equal_facts_are_equal_text_whatever_their_order() -> None:
    one, two = model(), model()
    record(one, {"a": 1, "b": 2})
    record(two, {"b": 2, "a": 1})
    assert one.SerializeToString(deterministic=True) == two.SerializeToString(deterministic=True)


@pytest.mark.parametrize("text", ["", "{", "[1]", "5"])
def test_what_cannot_be_read_says_nothing(text: str) -> None:
    assert recorded(model(**{KEY: text})) is None


def test_facts_can_be_forgotten() -> None:
    made = model(author="somebody")
    record(made, FACTS)
    forget_facts(made)
    assert recorded(made) is None
    assert [entry.key for entry in made.metadata_props] == ["author"]
