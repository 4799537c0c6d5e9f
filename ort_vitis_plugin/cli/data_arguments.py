"""Every verb that runs samples takes them by the same flags."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from ..data_readers.picture_to_array import COLORS, LAYOUTS, RESIZES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ort_vitis_plugin.data_readers import CalibrationData

SAMPLES, PICTURES = "Samples", "Pictures"
NAMES = ("data", "samples", "seed", "preprocess")
FLAGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("samples", SAMPLES, {"metavar": "N", "type": int, "help": "Take N, drawn at random (default: all)."}),
    ("seed", SAMPLES, {"metavar": "S", "type": int, "help": "Which ones are drawn (default: 0)."}),
    (
        "preprocess",
        SAMPLES,
        {
            "metavar": "NAME",
            "help": "imagenet, yolo, zero-one, or FILE.py:FUNCTION, called with each picture (an upright PIL.Image in "
            "RGB) or array.",
        },
    ),
    ("resize", PICTURES, {"metavar": "N|HxW", "help": "Pixels of the shorter side, or HEIGHTxWIDTH."}),
    (
        "fit",
        PICTURES,
        {
            "metavar": "HOW",
            "type": click.Choice(RESIZES),
            "help": "How to resize: shortest, stretch, letterbox.",
        },
    ),
    ("crop", PICTURES, {"metavar": "N|HxW", "help": "Keep the middle."}),
    ("mean", PICTURES, {"metavar": "X", "multiple": True, "type": float, "help": "Subtract: one, or one per channel."}),
    ("std", PICTURES, {"metavar": "X", "multiple": True, "type": float, "help": "Divide by: one, or one per channel."}),
    ("scale", PICTURES, {"metavar": "X", "type": float, "help": "Multiply pixels first (default: 1/255)."}),
    (
        "layout",
        PICTURES,
        {"metavar": "AXES", "type": click.Choice(LAYOUTS), "help": "NCHW or NHWC (default: the input's)."},
    ),
    (
        "color",
        PICTURES,
        {
            "metavar": "C",
            "type": click.Choice(tuple(COLORS)),
            "help": "RGB, BGR or L (default: by the input's channels).",
        },
    ),
    ("broken", PICTURES, {"metavar": "N", "type": int, "help": "How many may be unreadable (default: 10)."}),
)


def data_options(*, required: bool = False, otherwise: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the flags; ``otherwise`` says what happens without data."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        for name, panel, told in reversed(FLAGS):
            function = click.option(f"--{name}", panel=panel, **told)(function)
        return click.option(
            "--data",
            metavar="PATH",
            required=required,
            panel=SAMPLES,
            help="An .npz with an array [N, ...] per input, a .npy, or a folder of pictures or of .npy/.npz"
            f"{'; ' + otherwise if otherwise else ''}.",
        )(function)

    return declare


def said_of_samples(flags: Mapping[str, Any]) -> dict[str, Any]:
    """What the flags say, by the names of a configuration file."""
    found = {}
    for name in ("data", *(name for name, _, _ in FLAGS)):
        value = flags.get(name)
        if isinstance(value, tuple):
            value = list(value) or None
        if value is not None:
            found[name] = value
    return found


def data_reader(flags: Mapping[str, Any], otherwise: Mapping[str, Any] | None = None) -> CalibrationData | None:
    """The reader that the flags ask for, over what a configuration file says; None without ``--data``.

    Raises:
        CalibrationError: there is no such data.
        OptionError: a flag has a value that cannot be, or acts on pictures only where the data are none.
    """
    from ort_vitis_plugin.presets.samples_settings import reader_of

    return reader_of({**(otherwise or {}), **said_of_samples(flags)}, lambda name: f"--{name}")
