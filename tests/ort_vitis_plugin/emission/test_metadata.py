"""One text a key: put in, replaced, read and taken out, with others left as they are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from onnx import ModelProto

from ort_vitis_plugin.emission.metadata import entry, remove_entry, set_entry


def entries(model: ModelProto) -> dict[str, str]:
    return {each.key: each.value for each in model.metadata_props}


def test_a_key_has_one_text() -> None:
    model = ModelProto()
    assert entry(model, "ours") is None
    model.metadata_props.add(key="theirs", value="kept")
    for text in ("once", "twice"):
        set_entry(model, "ours", text)
        assert entry(model, "ours") == text
    assert entries(model) == {"theirs": "kept", "ours": "twice"}


def test_other_keys_go_when_named() -> None:
    model = ModelProto()
    model.metadata_props.add(key="theirs", value="left over")
    set_entry(model, "ours", "text", without={"theirs"})
    assert entries(model) == {"ours": "text"}


def test_a_key_that_came_twice_goes_whole() -> None:
    model = ModelProto()
    for key in ("ours", "theirs", "ours"):
        model.metadata_props.add(key=key, value=key)
    remove_entry(model, "ours")
    assert entries(model) == {"theirs": "theirs"}
