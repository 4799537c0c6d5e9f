"""A request with a few arguments changed: what an advice says, and what a trial tries."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..options.request import PRESET_ARGUMENTS
from .renames import SELECTIONS

if TYPE_CHECKING:
    from ..options.request import Request

Change = Mapping[str, object]
OPTIONS = "extra_options"


def changed_keywords(keywords: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Keyword arguments of quantize_static after a change: lists of nodes grow, options are set one by one, an option
    of the value None is left out, the rest is replaced."""
    found = dict(keywords)
    for key, value in change.items():
        if key == OPTIONS and isinstance(value, Mapping):
            options = {**(found.get(OPTIONS) or {}), **value}
            found[OPTIONS] = {name: entry for name, entry in options.items() if entry is not None}
        elif key in SELECTIONS and isinstance(value, (list, tuple)):
            found[key] = list(dict.fromkeys([*(found.get(key) or ()), *value]))
        else:
            found[key] = value
    return found


def changed_request(request: Request, change: Change) -> Request:
    """The same of a request.

    Raises:
        OptionError: the change holds an argument that is no option, no selection and none that a preset may set.
    """
    settable = (*PRESET_ARGUMENTS, *SELECTIONS, OPTIONS)
    strange = next((key for key in change if key not in settable), None)
    if strange is not None:
        raise OptionError(f"{strange} is not an argument that a change can hold; these are {', '.join(settable)}")
    now = {OPTIONS: request.given, **{key: getattr(request, key) for key in SELECTIONS}}
    after: dict[str, Any] = changed_keywords(now, change)
    after["given"] = after.pop(OPTIONS)
    for key in SELECTIONS:
        after[key] = tuple(after[key])
    return replace(request, **after, default=request.default - change.keys())
