"""Later versions of the same tool call arguments by other names; they mean the same here, and it is said once."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..options.options import OptionWarning

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

# What they say, in today's words: an argument takes the value, "Target=..." is asked for where the value is true.
LATER_KEYWORDS = {
    "input_model_path": "model_input",
    "output_model_path": "model_output",
    "enable_ipu_cnn": "enable_dpu",
    "enable_npu_cnn": "enable_dpu",
    "enable_ipu_transformer": "Target=ipu_transformer",
    "enable_npu_transformer": "Target=ipu_transformer",
}


def takes_later_keywords(function: Callable[P, T]) -> Callable[P, T]:
    """The function, with the keywords of later versions read as its own."""

    @functools.wraps(function)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        if not LATER_KEYWORDS.keys() & kwargs.keys():
            return function(*args, **kwargs)
        return function(*args, **_in_todays_words(kwargs))

    return reading


def _in_todays_words(keywords: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in keywords.items() if name not in LATER_KEYWORDS}
    later = [name for name in keywords if name in LATER_KEYWORDS]
    for name in later:
        argument, _, target = LATER_KEYWORDS[name].partition("=")
        value = keywords[name]
        if target:
            if value:
                found["extra_options"] = {argument: target, **(found.get("extra_options") or {})}
        elif found.setdefault(argument, value) != value:
            raise TypeError(f"quantize_static() got {name} and {argument}, which are one argument; give one of them")
    meant = ", ".join(f"{name} as {LATER_KEYWORDS[name]}" for name in later)
    warnings.warn(f"keywords of a later version are read: {meant}", OptionWarning, stacklevel=3)
    return found
