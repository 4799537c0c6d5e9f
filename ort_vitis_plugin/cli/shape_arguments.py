"""Flags that fix the sizes of a model's inputs."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse


def add_shapes(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    group = parser.add_argument_group("shapes")
    group.add_argument(
        "--fix-shape",
        metavar="INPUT=1,3,224,224",
        nargs="+",
        action="extend",
        default=[],
        help="the whole shape of an input whose sizes are open",
    )
    group.add_argument(
        "--fix-dim",
        metavar="NAME=1",
        nargs="+",
        action="extend",
        default=[],
        help="the size of a named dimension, wherever it occurs",
    )


def given_shapes(arguments: argparse.Namespace) -> dict[str, int | list[int]]:
    """What the flags say, as the option FixShapes takes it; empty without them.

    Raises:
        OptionError: a flag is not written NAME=SIZES.
    """
    from ort_vitis_plugin.errors import OptionError

    found: dict[str, int | list[int]] = {}
    for flag, texts in (("--fix-shape", arguments.fix_shape), ("--fix-dim", arguments.fix_dim)):
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
