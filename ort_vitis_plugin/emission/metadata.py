"""A model carries metadata as texts by key; a key of ours has one of them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Container

    from onnx import ModelProto


def entry(model: ModelProto, key: str) -> str | None:
    """The text of a key, None where the model has none."""
    return next((each.value for each in model.metadata_props if each.key == key), None)


def set_entry(model: ModelProto, key: str, text: str, without: Container[str] = ()) -> None:
    """Put a text under a key, in place of another; keys of ``without`` go."""
    entries = {each.key: each.value for each in model.metadata_props if each.key not in without}
    helper.set_model_props(model, {**entries, key: text})


def remove_entry(model: ModelProto, key: str) -> None:
    """Take a key out; the others stay as they are."""
    for index in reversed(range(len(model.metadata_props))):
        if model.metadata_props[index].key == key:
            del model.metadata_props[index]
