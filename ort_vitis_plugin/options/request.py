"""One call, frozen: what was asked for, at either door."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionError, OptionTypeError
from .options import is_same

if TYPE_CHECKING:
    from onnx import ModelProto

# Arguments that a preset or a target's defaults may set where the caller left them at the door's default.
PRESET_ARGUMENTS = (
    "quant_format",
    "calibrate_method",
    "activation_type",
    "weight_type",
    "per_channel",
    "reduce_range",
)


@dataclass(frozen=True)
class Request:
    """The arguments of one call. ``given`` holds options by key; ``default`` names arguments left at their default.

    ``by_preset`` names options that a preset gave. ``takes_random_data``: whether random data may take the place of
    samples that are needed and not given.
    """

    model: str | Path | ModelProto
    output: str | Path | None
    reader: Any
    quant_format: Any
    calibrate_method: Any
    activation_type: Any
    weight_type: Any
    per_channel: bool = False
    reduce_range: bool = False
    op_types: tuple[str, ...] = ()
    nodes_to_quantize: tuple[str, ...] = ()
    nodes_to_exclude: tuple[str, ...] = ()
    external_data: bool = False
    calibration: Any = None
    given: Mapping[str, object] = field(default_factory=dict)
    default: frozenset[str] = frozenset()
    by_preset: frozenset[str] = frozenset()
    takes_random_data: bool = True

    def with_options(self, **given: object) -> Request:
        """A copy with more options."""
        return replace(self, given={**self.given, **given})


def names(value: object, argument: str) -> tuple[str, ...]:
    """A list of names as a tuple; a lone string or anything else is refused by the argument's name.

    Raises:
        OptionTypeError: it is no list of texts.
    """
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise OptionTypeError(f"{argument} takes a list of names, not {value!r}; write [{value!r}]")
    listed = tuple(value)
    for entry in listed:
        if not isinstance(entry, str):
            raise OptionTypeError(f"{argument} takes a list of names, but holds {entry!r} ({type(entry).__name__})")
    return listed


def merged_options(extra_options: object, arguments: Mapping[str, object]) -> dict[str, object]:
    """``extra_options`` with the arguments that have an option key; both with different values are refused.

    Raises:
        OptionTypeError: ``extra_options`` is no dict.
        OptionError: an option and its argument contradict each other.
    """
    if extra_options is None:
        extra_options = {}
    if not isinstance(extra_options, Mapping):
        raise OptionTypeError(f"extra_options takes a dict, not {extra_options!r}")
    given = dict(extra_options)
    for key, value in arguments.items():
        if key in given and not is_same(given[key], value):
            raise OptionError(f"extra_options[{key!r}]={given[key]!r} contradicts the argument's value {value!r}")
        given[key] = value
    return given
