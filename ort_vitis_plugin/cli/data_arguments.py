"""Every verb that runs samples takes them by the same flags."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ort_vitis_plugin.data_readers import CalibrationData

# Flag, argument of Pictures, what argparse is told.
PICTURES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("--resize", "size", {"metavar": "N|HxW", "help": "pictures: pixels of the shorter side, or HEIGHTxWIDTH"}),
    (
        "--fit",
        "resize",
        {
            "choices": ("shortest", "stretch", "letterbox"),
            "help": "how --resize does it (default: by its value)",
        },
    ),
    ("--crop", "crop", {"metavar": "N|HxW", "help": "pictures: keep the middle"}),
    (
        "--mean",
        "mean",
        {"metavar": "X", "nargs": "+", "type": float, "help": "subtract: one number, or one per channel"},
    ),
    ("--std", "std", {"metavar": "X", "nargs": "+", "type": float, "help": "divide by: one number or one per channel"}),
    ("--scale", "scale", {"metavar": "X", "type": float, "help": "multiply pixels first (default: 1/255)"}),
    ("--layout", "layout", {"choices": ("NCHW", "NHWC"), "help": "axes (default: as the model's input)"}),
    (
        "--color",
        "color",
        {"choices": ("RGB", "BGR", "L"), "help": "channels (default: RGB, or L by the model)"},
    ),
    ("--broken", "broken", {"metavar": "N", "type": int, "help": "pictures that may be unreadable (default: 10)"}),
)


def add_data(parser: argparse.ArgumentParser, *, required: bool = False, otherwise: str = "") -> None:
    """Declare the flags; ``otherwise`` says what happens without data."""
    group = parser.add_argument_group("samples")
    group.add_argument(
        "--data",
        metavar="PATH",
        required=required,
        help="an .npz with an array [N, ...] per input, a .npy, or a folder (and its folders) of pictures or of one "
        f".npy/.npz per sample{'; ' + otherwise if otherwise else ''}",
    )
    group.add_argument("--samples", metavar="N", type=int, help="take N of them, drawn at random (default: all)")
    group.add_argument("--seed", metavar="S", type=int, default=0, help="which ones are drawn (default: 0)")
    group.add_argument(
        "--preprocess",
        metavar="NAME",
        help="imagenet, yolo or zero-one for pictures, or FILE.py:FUNCTION, called with each picture (an upright "
        "PIL.Image in RGB) or array",
    )
    for flag, argument, told in PICTURES:
        group.add_argument(flag, dest=f"picture_{argument}", **told)


def data_reader(arguments: argparse.Namespace) -> CalibrationData | None:
    """The reader that the flags ask for, None without ``--data``.

    Raises:
        CalibrationError: there is no such data.
        OptionError: a flag has a value that cannot be, or acts on pictures only where the data are none.
    """
    from ort_vitis_plugin.data_readers import Pictures, calibration_data
    from ort_vitis_plugin.data_readers.items import items_of
    from ort_vitis_plugin.data_readers.picture_recipes import RECIPES, preprocess_named
    from ort_vitis_plugin.errors import OptionError

    given: dict[str, Any] = {
        argument: _sizes(flag, value) if argument in ("size", "crop") else value
        for flag, argument, _ in PICTURES
        if (value := getattr(arguments, f"picture_{argument}")) is not None
    }
    named = [flag for flag, argument, _ in PICTURES if argument in given]
    named += [f"--samples {arguments.samples}"] if arguments.samples is not None else []
    named += ["--preprocess"] if arguments.preprocess is not None else []
    if arguments.data is None:
        if named:
            raise OptionError(f"{named[0]} says how to read samples, but there are none; add --data PATH")
        return None
    if arguments.samples is not None and arguments.samples < 1:
        raise OptionError(f"--samples takes a whole number from 1 on, not {arguments.samples}")
    source: Any = arguments.data
    transform = None
    if isinstance(items_of(source), Pictures):
        source = Pictures(source, **given, preprocess=arguments.preprocess)
    elif given or arguments.preprocess in RECIPES:
        raise OptionError(f"{named[0]} is for pictures, but {arguments.data!r} holds arrays; use FILE.py:FUNCTION")
    elif arguments.preprocess is not None:
        transform = preprocess_named(arguments.preprocess)
    return calibration_data(source, transform=transform, limit=arguments.samples, seed=arguments.seed)


def _sizes(flag: str, text: str) -> int | tuple[int, int]:
    from ort_vitis_plugin.errors import OptionError

    sides = text.lower().split("x")
    if len(sides) > 2 or not all(side.isdecimal() for side in sides):
        raise OptionError(f"{flag} takes pixels or HEIGHTxWIDTH, not {text!r}")
    return int(sides[0]) if len(sides) == 1 else (int(sides[0]), int(sides[1]))
