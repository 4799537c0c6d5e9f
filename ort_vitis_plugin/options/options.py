"""Options are declared once, with type, default and documentation, and read by attribute."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
import numbers
import sys
import types
import typing
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, Union

from ..errors import OptionError, OptionTypeError, UnknownOptionError, suggest

Group = TypeVar("Group", bound="OptionGroup")


class OptionWarning(UserWarning):
    """An option has no effect, or nobody here knows it."""


@dataclass(frozen=True)
class Option:
    """One key of ``extra_options``; ``needs`` names the switch without which it does nothing.

    ``targets``, ``methods`` and ``formats`` are those with which it acts, by name (formats by full name); empty: all.
    """

    key: str
    type: Any
    default: Any
    doc: str
    needs: str | None = None
    aliases: tuple[str, ...] = ()
    check: Callable[[Any], bool] | None = field(default=None, compare=False)
    targets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()

    @property
    def type_name(self) -> str:
        return self.type.__name__ if isinstance(self.type, type) else str(self.type).replace("typing.", "")

    def validate(self, value: object) -> None:
        """Refuse a value that the option does not take.

        Raises:
            OptionTypeError: the value has another type.
            OptionError: it is none of those that the option takes; no option takes NaN or an infinite number.
        """
        if not conforms(value, self.type):
            if isinstance(value, int) and value.bit_length() > 63:
                size = f"one of {value.bit_length()} bits"  # Python writes out no number of thousands of digits
                raise OptionError(f"option {self.key} takes numbers of 64 bits, not {size}: {self.doc}")
            raise OptionTypeError(
                f"option {self.key} takes {self.type_name}, not {value!r} ({type(value).__name__}): {self.doc}"
            )
        if isinstance(value, numbers.Real) and (value != value or value in (math.inf, -math.inf)):
            raise OptionError(f"option {self.key} takes a finite number, not {value!r}: {self.doc}")
        if self.check is not None and not self.check(value):
            raise OptionError(f"option {self.key} does not accept {value!r}: {self.doc}")


def conforms(value: object, hint: Any) -> bool:
    """Whether ``value`` is of the annotated type; whole numbers count as float, numpy scalars as Python's.

    Numbers that neither int64 nor double holds are of no type: models and numpy have no place for them.
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object:
        return True
    if hint is None or hint is type(None):
        return value is None
    if origin in (Union, types.UnionType):
        return any(conforms(value, argument) for argument in arguments)
    if origin is typing.Literal:
        return any(type(value) is type(argument) and value == argument for argument in arguments)
    if origin in (list, tuple, Sequence):
        inner = arguments[0] if arguments else Any
        return isinstance(value, (list, tuple)) and all(conforms(item, inner) for item in value)
    if origin in (dict, Mapping):
        key, item = arguments or (Any, Any)
        return isinstance(value, Mapping) and all(conforms(k, key) and conforms(v, item) for k, v in value.items())
    if hint is bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")
    if hint is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**63
    if hint is float:
        fits = not isinstance(value, numbers.Integral) or abs(int(value)) <= sys.float_info.max
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and fits
    return isinstance(value, origin or hint)


def is_same(one: object, other: object) -> bool:
    """Whether two values are equal; of arrays, and of what cannot be compared, whether they are one object."""
    try:
        return one is other or bool(one == other)
    except Exception:  # code of the caller, or an array of answers
        return False


def is_falsy(value: object) -> bool:
    """Whether a value is None, False, 0 or empty; arrays, and what has no truth, are none of these."""
    try:
        return not value
    except Exception:  # code of the caller, or an array of answers
        return False


def option(
    default: Any,
    doc: str,
    *,
    key: str | None = None,
    needs: str | None = None,
    aliases: tuple[str, ...] = (),
    check: Callable[[Any], bool] | None = None,
    targets: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    formats: tuple[str, ...] = (),
) -> Any:
    """A field of an OptionGroup; the key is the field's name in CamelCase unless ``key`` says otherwise."""
    return Option(key or "", Any, default, doc, needs, aliases, check, targets, methods, formats)


class OptionGroup:
    """The options of one feature. Subclasses annotate fields and assign ``option(...)`` to them."""

    _fields: typing.ClassVar[dict[str, Option]] = {}

    def __init_subclass__(cls) -> None:
        hints = typing.get_type_hints(cls)
        fields = {}
        for name, declared in list(vars(cls).items()):
            if isinstance(declared, Option):
                key = declared.key or "".join(part[:1].upper() + part[1:] for part in name.split("_"))
                fields[name] = replace(declared, key=key, type=hints[name])
        cls._fields = fields

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name, declared in self._fields.items():
            object.__setattr__(self, name, values[declared.key])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"options are frozen: {name}")

    @classmethod
    def options(cls) -> Iterator[Option]:
        yield from cls._fields.values()


class Options(Mapping[str, Any]):
    """The values of one call: by group and attribute, or by key. Frozen."""

    def __init__(self, values: Mapping[str, Any], explicit: Iterable[str]) -> None:
        self._values = dict(values)
        self._groups: dict[type[OptionGroup], OptionGroup] = {}
        self.explicit = frozenset(explicit)

    @typing.overload
    def __getitem__(self, key: type[Group]) -> Group: ...
    @typing.overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: str | type[Group]) -> Any:
        if isinstance(key, str):
            return self._values[key]
        if key not in self._groups:
            self._groups[key] = key(self._values)
        return self._groups[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def changed(self, values: Mapping[str, Any]) -> Options:
        """A copy with other values."""
        return Options({**self._values, **values}, self.explicit)

    def given(self, key: str) -> bool:
        """Whether the caller or a preset set the key."""
        return key in self.explicit


def resolve(key: str, declared: Mapping[str, Option]) -> str | None:
    """The canonical key behind ``key`` or one of its aliases."""
    if key in declared:
        return key
    return next((known.key for known in declared.values() if key in known.aliases), None)


def check_names(given: Mapping[str, object], declared: Mapping[str, Option]) -> None:
    """A key close to a declared one is a misspelling; one like nothing known may belong to a newer onnxruntime.

    Raises:
        UnknownOptionError: a key is misspelt.
        OptionError: a key is no text.
    """
    for key in given:
        if not isinstance(key, str):
            raise OptionError(f"extra_options has the key {key!r:.60}; names of options are text")
    names = [*declared, *(alias for known in declared.values() for alias in known.aliases)]
    for key in given:
        if resolve(key, declared) is not None:
            continue
        hint = suggest(key, names)
        if hint:
            raise UnknownOptionError(f"{key} is not an option{hint}")
        warnings.warn(f"{key} is not an option of any plugin; it is passed on to onnxruntime", OptionWarning, 4)


def parse(
    declared: Mapping[str, Option],
    given: Mapping[str, object],
    presets: Mapping[str, object] | None = None,
    by_preset: Collection[str] = (),
) -> Options:
    """Values from the caller over the target's presets over the declared defaults, each of the declared type.

    ``by_preset`` are keys that a preset gave: nobody is told that these have no effect.

    Raises:
        OptionError: a key is given under two names with different values.
    """
    check_names(given, declared)
    values: dict[str, Any] = {key: known.default for key, known in declared.items()}
    values.update(presets or {})
    explicit: dict[str, str] = {}
    for key, value in given.items():
        canonical = resolve(key, declared)
        if canonical is None:
            values[key] = value
            continue
        if canonical in explicit and not is_same(values[canonical], value):
            raise OptionError(
                f"{explicit[canonical]}={values[canonical]!r} and {key}={value!r} are one option with two values"
            )
        declared[canonical].validate(value)
        values[canonical] = value
        explicit[canonical] = key
    _warn_without_effect(declared, values, [key for key in explicit if key not in by_preset])
    return Options(values, [*explicit, *(presets or {})])


def _warn_without_effect(declared: Mapping[str, Option], values: Mapping[str, Any], asked: Iterable[str]) -> None:
    for key in asked:
        needs = declared[key].needs
        if needs is not None and values[key] and not values.get(needs):
            warnings.warn(f"{key} has no effect because {needs} is not set", OptionWarning, 4)
