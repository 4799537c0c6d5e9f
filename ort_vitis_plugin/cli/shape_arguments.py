"""Flags that fix the sizes of a model's inputs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHAPES = "Shapes"


def shape_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the flags."""
    function = click.option(
        "--fix-dim",
        metavar="NAME=1",
        multiple=True,
        panel=SHAPES,
        help="Size of a named dimension, wherever it occurs.",
    )(function)
    return click.option(
        "--fix-shape",
        metavar="INPUT=1,3,224,224",
        multiple=True,
        panel=SHAPES,
        help="Shape of an input whose sizes are open.",
    )(function)


def given_shapes(fix_shape: Iterable[str], fix_dim: Iterable[str]) -> dict[str, int | list[int]]:
    """What the flags say, as the option FixShapes takes it; empty without them.

    Raises:
        OptionError: a flag is not written NAME=SIZES.
    """
    from ort_vitis_plugin.errors import OptionError

    found: dict[str, int | list[int]] = {}
    for flag, texts in (("--fix-shape", fix_shape), ("--fix-dim", fix_dim)):
        for text in texts:
            name, equals, value = text.rpartition("=")
            sizes = [size.strip() for size in value.split(",")]
            wanted = "INPUT=1,3,224,224" if flag == "--fix-shape" else "NAME=1"
            whole = all(size.isdecimal() for size in sizes) and (flag == "--fix-shape" or len(sizes) == 1)
            if not equals or not name or not whole:
                raise OptionError(f"{flag} takes {wanted}, not {text!r}")
            numbers = [int(size) for size in sizes]
            given: int | list[int] = numbers if flag == "--fix-shape" else numbers[0]
            if found.setdefault(name, given) != given:
                raise OptionError(f"{flag} {text} contradicts {name}={found[name]}")
    return found
