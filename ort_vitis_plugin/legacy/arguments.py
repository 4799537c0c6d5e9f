"""Arguments as the old manual has them, checked: names as lists or text, and a zero point before its scale."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionError, OptionTypeError, UnknownNameError, suggest
from ..options.options import OptionWarning

if TYPE_CHECKING:
    from onnx import ModelProto

OP_TYPES = ("Conv", "MatMul")


def given_parameters(params: object, model: ModelProto) -> dict[str, tuple[np.uint8, np.float32]]:
    """``{name: [zero_point, scale]}`` checked; names that are no activations of the model warn and are left out.

    Raises:
        OptionTypeError: an entry is not [zero_point, scale].
        OptionError: a zero point or scale cannot be.
    """
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise OptionTypeError(f"quantization_params takes {{name: [zero_point, scale]}}, not {params!r}")
    activations = {value.name for value in model.graph.input}
    activations.update(name for node in model.graph.node for name in (*node.input, *node.output))
    activations -= {tensor.name for tensor in model.graph.initializer} | {""}
    given = {}
    for name, pair in params.items():
        if not isinstance(pair, Sequence | np.ndarray) or isinstance(pair, str) or len(pair) != 2:
            raise OptionTypeError(f"quantization_params[{name!r}] takes [zero_point, scale], not {pair!r}")
        try:
            zero_point, scale = float(pair[0]), float(pair[1])
        except (TypeError, ValueError) as error:
            raise OptionTypeError(f"quantization_params[{name!r}] takes two numbers, not {pair!r}") from error
        if not zero_point.is_integer() or not 0 <= zero_point <= 255:
            raise OptionError(f"quantization_params[{name!r}]: zero point {pair[0]!r} is no whole number from 0 to 255")
        if not np.isfinite(np.float32(scale)) or np.float32(scale) <= 0:
            raise OptionError(f"quantization_params[{name!r}]: scale {pair[1]!r} is not a positive float32")
        if name in activations:
            given[name] = (np.uint8(zero_point), np.float32(scale))
        else:
            message = f"quantization_params[{name!r}] has no effect: no activation has this name"
            warnings.warn(f"{message}{suggest(str(name), activations)}", OptionWarning, stacklevel=3)
    return given


def check_node_names(names: Iterable[str], argument: str, model: ModelProto) -> None:
    """Refuse a name that no node of the model has.

    Raises:
        UnknownNameError: there is no such node.
    """
    known = {node.name for node in model.graph.node}
    for name in names:
        if name not in known:
            raise UnknownNameError(f"{argument}: no node is called {name!r}{suggest(name, known)}")


def listed_names(names: object, argument: str) -> list[str]:
    """A list of names, or the comma-separated text that the old manual shows.

    Raises:
        OptionTypeError: it is neither.
    """
    if names is None:
        return []
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    if isinstance(names, Iterable):
        listed = list(names)
        if all(isinstance(name, str) for name in listed):
            return listed
    raise OptionTypeError(f"{argument} takes a list of names or a comma-separated text, not {names!r}")


def deprecated(old: str, today: str) -> None:
    """Warn the caller's caller."""
    warnings.warn(f"{old} is the interface of 2019; today's call is {today}", DeprecationWarning, stacklevel=3)
