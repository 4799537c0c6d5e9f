"""Parts of an item bear the names of inputs; what is left over is its label."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ort_vitis_plugin.data_readers.model_inputs import Input
from ort_vitis_plugin.data_readers.sample_parts import Naming, is_feed, is_sample
from ort_vitis_plugin.errors import CalibrationError, OptionTypeError

INPUTS = {"x": Input("x", np.dtype(np.float32), (None, 3))}
X = np.zeros((2, 3), np.float32)


def named(item: Any, inputs: object = None, *, single: bool = False, table: bool = False) -> tuple[Any, Any]:
    naming = Naming.of(inputs).with_inputs(INPUTS)
    feed, label = naming.feed(item, "sample 0", single=single, table=table, renames=False)
    return {name: np.shape(value) for name, value in feed.items()}, None if label is None else label.tolist()


def test_parts_get_names_and_the_rest_is_the_label() -> None:
    assert named(X) == ({"x": (2, 3)}, None)
    assert named((X, [4, 5])) == ({"x": (2, 3)}, [4, 5])
    assert named({"x": X, "label": 4}) == ({"x": (2, 3)}, [4])
    assert named({"pixels": X, "y": 4}, {"x": "pixels"}) == ({"x": (2, 3)}, [4])
    assert named(X[0], single=True) == ({"x": (1, 3)}, None)


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ((X, X, X), "holds 3 parts, but the model takes x; say inputs"),
        ({"label": 3}, "nothing for the input 'x'"),
        (["a", "b"], "is text, but the model takes float32"),
    ],
)
def test_items_that_do_not_fit_are_told(item: Any, text: str) -> None:
    with pytest.raises(CalibrationError, match=text):
        named(item)


def test_names_that_are_none_are_told() -> None:
    with pytest.raises(CalibrationError, match="inputs names 'z', but the model's are x"):
        named(X, "z")
    with pytest.raises(OptionTypeError, match="inputs is a name, a list of names or"):
        Naming.of(5)


def test_what_can_be_a_sample() -> None:
    assert all(is_sample(item) for item in (X, {"x": X}, (X, 1), [X]))
    assert not any(is_sample(item) for item in ("text", 5, None))
    assert is_feed({"x": X}, INPUTS)
    assert not is_feed({"x": X, "label": 3}, INPUTS)
