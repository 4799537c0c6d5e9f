"""Texts become values of the option's type, and what is no option is refused."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from typing import Any

import pytest

from ort_vitis_plugin.cli.option_values import parse_options, parse_value
from ort_vitis_plugin.errors import OptionError, OptionTypeError, UnknownOptionError
from ort_vitis_plugin.options.options import Option


def option(kind: Any) -> Option:
    return Option("Key", kind, None, "doc")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("yes", bool, True),
        ("0", bool, False),
        ("3", int, 3),
        ("0.5", float, 0.5),
        ("none", int | None, None),
        ("a,b", list[str], ["a", "b"]),
        ("['a']", list[str], ["a"]),
        ("{'x': 1}", dict[str, int], {"x": 1}),
        ("text", str, "text"),
    ],
)
def test_readings(text: str, kind: Any, value: object) -> None:
    assert parse_value(text, option(kind)) == value


@pytest.mark.parametrize("text", ["x", "{[1]: 2}"])
def test_what_is_of_another_type(text: str) -> None:
    with pytest.raises(OptionTypeError, match=re.escape(f"Key takes int, not {text!r}")):
        parse_value(text, option(int))


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (["Key"], OptionError, "takes Key=Value"),
        (["Kay=1"], UnknownOptionError, "did you mean Key"),
        (["Key=1", "Key=2"], OptionError, "given twice"),
    ],
)
def test_refusals(texts: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        parse_options(texts, {"Key": option(int)})


def test_equal_values_may_come_twice() -> None:
    assert parse_options(["Key=1", "Key=1"], {"Key": option(int)}) == {"Key": 1}
