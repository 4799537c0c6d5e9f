"""Options: declared once, parsed by type, suggested when misspelt, frozen."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import pytest

from ort_vitis_plugin.errors import OptionError, OptionTypeError, UnknownOptionError
from ort_vitis_plugin.options.options import Option, OptionGroup, Options, OptionWarning, conforms, option, parse
from ort_vitis_plugin.plugin.catalog import shared_catalog


class Cheese(OptionGroup):
    """Options of a test."""

    age_in_months: int = option(3, "How old.")
    is_blue: bool = option(False, "Whether there is mould.", key="Blue", aliases=("Mouldy",))
    weight: float = option(1.5, "Kilograms.", check=lambda value: value > 0)
    milk: Literal["cow", "goat"] = option("cow", "Whose milk.")
    holes: list[int] | None = option(None, "Where the holes are.", needs="Blue")
    names: dict[str, str] = option({}, "What it is called where.")


DECLARED = {declared.key: declared for declared in Cheese.options()}


def test_keys_are_derived_or_given() -> None:
    assert list(DECLARED) == ["AgeInMonths", "Blue", "Weight", "Milk", "Holes", "Names"]
    assert DECLARED["AgeInMonths"].type_name == "int"
    assert DECLARED["Milk"].type_name == "Literal['cow', 'goat']"


def test_defaults() -> None:
    parsed = parse(DECLARED, {})
    cheese = parsed[Cheese]
    assert (cheese.age_in_months, cheese.is_blue, cheese.holes) == (3, False, None)
    assert not parsed.given("Blue")


def test_attribute_and_key_read_the_same() -> None:
    parsed = parse(DECLARED, {"AgeInMonths": 7})
    assert parsed[Cheese].age_in_months == parsed["AgeInMonths"] == 7
    assert parsed.given("AgeInMonths")


def test_caller_over_preset_over_default() -> None:
    presets = {"AgeInMonths": 5, "Weight": 2.5}
    parsed = parse(DECLARED, {"AgeInMonths": 9}, presets)
    assert (parsed["AgeInMonths"], parsed["Weight"], parsed["Milk"]) == (9, 2.5, "cow")
    assert parsed.given("Weight")


def test_aliases_are_the_option() -> None:
    assert parse(DECLARED, {"Mouldy": True})["Blue"] is True
    assert parse(DECLARED, {"Mouldy": True, "Blue": True})["Blue"] is True
    with pytest.raises(OptionError, match="one option with two values"):
        parse(DECLARED, {"Mouldy": True, "Blue": False})


def test_values_are_frozen_and_the_callers_dict_is_untouched() -> None:
    given: dict[str, object] = {"Names": {"fr": "Bleu"}, "Blue": True}
    parsed = parse(DECLARED, given)
    with pytest.raises(AttributeError, match="frozen"):
        parsed[Cheese].is_blue = False
    assert not hasattr(parsed, "__setitem__")
    assert given == {"Names": {"fr": "Bleu"}, "Blue": True}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("AgeInMonths", "3"),
        ("AgeInMonths", True),
        ("AgeInMonths", 2.5),
        ("Blue", 1),
        ("Blue", "yes"),
        ("Weight", "1"),
        ("Weight", True),
        ("Milk", "sheep"),
        ("Holes", [1, "2"]),
        ("Holes", 3),
        ("Names", [("fr", "Bleu")]),
        ("Names", {"fr": 1}),
    ],
)
def test_wrong_types_name_key_type_value_and_doc(key: str, value: object) -> None:
    with pytest.raises(OptionTypeError) as caught:
        parse(DECLARED, {"Blue": True, key: value})
    for part in (key, DECLARED[key].type_name, repr(value), DECLARED[key].doc):
        assert part in str(caught.value)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("AgeInMonths", np.int64(4)),
        ("Weight", 2),
        ("Weight", np.float32(0.5)),
        ("Blue", np.bool_(True)),
        ("Holes", (1, 2)),
        ("Holes", []),
    ],
)
def test_numpy_and_whole_numbers_pass(key: str, value: object) -> None:
    assert parse(DECLARED, {"Blue": True, key: value})[key] == value


def test_a_check_refuses_values() -> None:
    with pytest.raises(OptionError, match="Weight does not accept -1"):
        parse(DECLARED, {"Weight": -1})


@pytest.mark.parametrize(("wrong", "right"), [("AgeInMonth", "AgeInMonths"), ("blue", "Blue"), ("Moudly", "Mouldy")])
def test_misspelt_keys_are_refused_with_the_nearest(wrong: str, right: str) -> None:
    with pytest.raises(UnknownOptionError, match=f"{wrong} is not an option; did you mean {right}"):
        parse(DECLARED, {wrong: 1})


def test_a_key_like_no_other_passes_on_with_a_warning() -> None:
    with pytest.warns(OptionWarning, match="Quux is not an option of any plugin"):
        assert parse(DECLARED, {"Quux": 1})["Quux"] == 1


def test_without_its_switch_an_option_has_no_effect() -> None:
    with pytest.warns(OptionWarning, match="Holes has no effect because Blue is not set"):
        parse(DECLARED, {"Holes": [1]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(DECLARED, {"Holes": [1], "Blue": True})
        parse(DECLARED, {"Holes": None})


def test_every_declared_default_is_of_its_type() -> None:
    from ort_vitis_plugin.plugin.catalog import shared_catalog

    wrong = [known.key for known in shared_catalog().options.values() if not conforms(known.default, known.type)]
    assert wrong == []


def test_options_are_a_mapping() -> None:
    parsed = Options({"A": 1}, ["A"])
    assert dict(parsed) == {"A": 1}
    assert len(parsed) == 1
    assert parsed.get("B", 2) == 2


HINTS: list[tuple[object, Any, bool]] = [
    (1, Any, True),
    (None, None, True),
    ([1, 2], list[int], True),
    ([1, "2"], list[int], False),
    ("x", str | None, True),
    ({"a": [1]}, dict[str, list[int]], True),
    ({"a": 1}, dict[str, list[int]], False),
    (True, Literal[1], False),
    (2**63 - 1, int, True),
    (-(2**63), int | None, True),
    (2**63, int, False),
    (-(10**20), int | None, False),
    ([10**20], list[int], False),
    (10**300, float, True),
    (10**400, float, False),
    (-(10**400), float | None, False),
]


@pytest.mark.parametrize(("value", "hint", "expected"), HINTS)
def test_conforms(value: object, hint: Any, expected: bool) -> None:
    assert conforms(value, hint) is expected


def test_command_line_values_are_read_by_type() -> None:
    from ort_vitis_plugin.cli.option_values import parse_options

    read = parse_options(
        ["AgeInMonths=12", "Mouldy=yes", "Weight=2", "Milk=goat", "Holes=1,2", "Names={'fr': 'Bleu'}"],
        {**DECLARED, "Holes": Option("Holes", list[str], [], "Names.")},
    )
    assert read == {
        "AgeInMonths": 12,
        "Blue": True,
        "Weight": 2,
        "Milk": "goat",
        "Holes": ["1", "2"],
        "Names": {"fr": "Bleu"},
    }
    assert parse_options(["Holes=none"], DECLARED) == {"Holes": None}
    assert parse_options(["Holes=[1, 2]"], DECLARED) == {"Holes": [1, 2]}
    with pytest.raises(OptionError, match="given twice"):
        parse_options(["Blue=1", "Mouldy=0"], DECLARED)


def test_keys_are_text() -> None:
    with pytest.raises(OptionError, match="the key 3; names of options are text"):
        parse({}, {3: True})  # type: ignore[dict-item]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), np.float32("nan"), np.float64("inf")])
def test_no_option_takes_a_number_that_is_none(value: object) -> None:
    for declared in (
        Option("A", float, 0.5, "A."),
        Option("B", float | None, None, "B."),
        Option("C", Any, None, "C."),
    ):
        with pytest.raises(OptionError, match="takes a finite number"):
            declared.validate(value)
    for finite in (0.0, -1.5, 10**400, np.float32(2), "inf", None):
        Option("C", Any, None, "C.").validate(finite)


def test_no_declared_option_of_a_number_takes_one_beyond_its_type() -> None:
    numbers = [known for known in shared_catalog().options.values() if known.type in (int, int | None)]
    assert len(numbers) > 3
    for known in numbers:
        for value in (10**20, -(10**20), 10**5000):
            with pytest.raises(OptionError, match=f"{known.key} takes numbers of 64 bits, not one of [0-9]+ bits"):
                known.validate(value)


def test_no_declared_option_of_a_float_takes_nan() -> None:
    floats = [known for known in shared_catalog().options.values() if known.type in (float, float | None)]
    assert len(floats) > 3
    for known in floats:
        with pytest.raises(OptionError):
            known.validate(float("nan"))
