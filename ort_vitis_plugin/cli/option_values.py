"""``Key=Value`` on the command line becomes a value of the option's declared type."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import contextlib
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Union

from ort_vitis_plugin.errors import OptionError, OptionTypeError, UnknownOptionError, suggest
from ort_vitis_plugin.options.options import Option, conforms, resolve

WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def parse_options(texts: Iterable[str], declared: Mapping[str, Option]) -> dict[str, Any]:
    """{key: value} of ``Key=Value`` texts; unlike in Python, a key that no plugin declares is refused.

    Raises:
        OptionError: a text is not Key=Value, or a key is given twice.
        UnknownOptionError: no plugin declares the key.
    """
    given: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise OptionError(f"--option takes Key=Value, not {text!r}")
        canonical = resolve(key, declared)
        if canonical is None:
            hint = suggest(key, declared) or "; `ort-vitis options` lists all"
            raise UnknownOptionError(f"{key} is not an option{hint}")
        parsed = parse_value(value, declared[canonical])
        if canonical in given and given[canonical] != parsed:
            raise OptionError(f"{canonical} is given twice: {given[canonical]!r} and {parsed!r}")
        given[canonical] = parsed
    return given


def parse_value(text: str, declared: Option) -> Any:
    """The first reading of ``text`` that is of the option's type; lists are written a,b,c or as in Python.

    Raises:
        OptionTypeError: no reading is of the type.
    """
    for candidate in _readings(text, declared.type):
        if conforms(candidate, declared.type):
            return candidate
    raise OptionTypeError(f"option {declared.key} takes {declared.type_name}, not {text!r}: {declared.doc}")


def _readings(text: str, hint: Any) -> Iterable[Any]:
    kinds = set(_parts(hint))
    if bool in kinds and text.lower() in WORDS:
        yield WORDS[text.lower()]
    if text.lower() == "none":
        yield None
    with contextlib.suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # what it documents
        yield ast.literal_eval(text)
    yield text
    if kinds & {list, tuple, Sequence}:
        yield [part.strip() for part in text.split(",") if part.strip()]


def _parts(hint: Any) -> Iterable[Any]:
    """The plain types in a union, generic ones without their parameters."""
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        for argument in typing.get_args(hint):
            yield from _parts(argument)
    else:
        yield origin or hint
