"""Where samples come from, by the same names in a file as on the command line."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..data_readers import Pictures, calibration_data
from ..data_readers.items import items_of
from ..data_readers.picture_recipes import RECIPES, preprocess_named
from ..errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..data_readers import CalibrationData

# Name, and the argument of Pictures that it is.
PICTURES = {
    "resize": "size",
    "fit": "resize",
    "crop": "crop",
    "mean": "mean",
    "std": "std",
    "scale": "scale",
    "layout": "layout",
    "color": "color",
    "broken": "broken",
}


def reader_of(said: Mapping[str, Any], spelled: Callable[[str], str]) -> CalibrationData | None:
    """The reader that the settings ask for, None without ``data``; ``spelled`` gives a name as the user wrote it.

    Raises:
        CalibrationError: there is no such data.
        OptionError: a setting has a value that cannot be, or acts on pictures only where the data are none.
    """
    said = {name: value for name, value in said.items() if value is not None}
    given = {argument: said[name] for name, argument in PICTURES.items() if name in said}
    for name in ("resize", "crop"):
        if name in said:
            given[PICTURES[name]] = _sizes(spelled(name), said[name])
    named = [spelled(name) for name in (*PICTURES, "samples", "preprocess") if name in said]
    source = said.get("data")
    if source is None:
        if named:
            raise OptionError(f"{named[0]} says how to read samples, but there are none; add {spelled('data')} PATH")
        return None
    limit, preprocess = said.get("samples"), said.get("preprocess")
    if limit is not None and limit < 1:
        raise OptionError(f"{spelled('samples')} takes a whole number from 1 on, not {limit}")
    transform = None
    if isinstance(items_of(source), Pictures):
        source = Pictures(source, **given, preprocess=preprocess)
    elif given or preprocess in RECIPES:
        raise OptionError(f"{named[0]} is for pictures, but {source!r} holds arrays; use FILE.py:FUNCTION")
    elif preprocess is not None:
        transform = preprocess_named(preprocess)
    return calibration_data(source, transform=transform, limit=limit, seed=said.get("seed", 0))


def _sizes(name: str, value: Any) -> int | tuple[int, int]:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(side, int) for side in value):
        return value[0], value[1]
    sides = value.lower().split("x") if isinstance(value, str) else [""]
    if len(sides) > 2 or not all(side.isdecimal() for side in sides):
        raise OptionError(f"{name} takes pixels or HEIGHTxWIDTH, not {value!r}")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))
