"""A request keeps what the caller gave, and refuses what contradicts itself."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pytest

from ort_vitis_plugin.errors import OptionError, OptionTypeError
from ort_vitis_plugin.options.request import Request, merged_options, names


def test_names_become_a_tuple() -> None:
    assert names(None, "n") == ()
    assert names(["a", "b"], "n") == ("a", "b")


@pytest.mark.parametrize("value", ["a", 3, [1]])
def test_a_lone_name_is_no_list(value: object) -> None:
    with pytest.raises(OptionTypeError, match="n takes a list of names"):
        names(value, "n")


def test_arguments_join_options_unless_they_contradict() -> None:
    given = {"A": 1}
    assert merged_options(given, {"A": 1, "B": 2}) == {"A": 1, "B": 2}
    assert merged_options(None, {}) == {}
    assert given == {"A": 1}
    with pytest.raises(OptionError, match="contradicts"):
        merged_options(given, {"A": 2})
    with pytest.raises(OptionTypeError, match="takes a dict"):
        merged_options([1], {})


def test_more_options_make_another_request() -> None:
    request = Request("m", None, None, None, None, None, None, given={"A": 1})
    assert request.with_options(B=2).given == {"A": 1, "B": 2}
    assert request.given == {"A": 1}
