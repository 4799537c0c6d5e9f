"""Most networks take one of a few preprocessings; any other one is a function in a file of the user's."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from ..errors import CalibrationError, suggest
from .picture_to_array import PictureToArray

# imagenet: torchvision's reference transform for classifiers, 256 then 224, or in proportion at the model's size.
# yolo: Ultralytics' letterbox to the model's size. zero-one: stretched to the model's size, pixels from 0 to 1.
RECIPES: dict[str, PictureToArray] = {
    "imagenet": PictureToArray(
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        share=224 / 256,
        otherwise=224,
        optional=frozenset({"mean", "std"}),
    ),
    "yolo": PictureToArray(resize="letterbox", otherwise=640),
    "zero-one": PictureToArray(resize="stretch"),
}


class _UncachedLoader(SourceFileLoader):
    """Runs a file and leaves no bytecode beside it: a call writes what it is told to."""

    def set_data(self, path: Any, data: Any, *, _mode: int = 0) -> None:
        """Where importlib hands over what it compiled."""


def preprocess_named(name: str) -> PictureToArray | Callable[..., Any]:
    """The recipe of that name, or the function of ``FILE.py:FUNCTION``.

    Raises:
        CalibrationError: there is no such recipe, file or function.
    """
    if name in RECIPES:
        return RECIPES[name]
    file, colon, function = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise CalibrationError(
            f"there is no preprocessing {name!r} ({', '.join(RECIPES)}, or FILE.py:FUNCTION){suggest(name, RECIPES)}"
        )
    path = Path(file)
    if not path.is_file():
        raise CalibrationError(f"the file {file!r} of the preprocessing {name!r} does not exist")
    loader = _UncachedLoader(f"ort_vitis_preprocess_{path.stem}", str(path))
    spec = importlib.util.spec_from_file_location(loader.name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except Exception as error:
        raise CalibrationError(f"{file!r} fails when it is run: {type(error).__name__}: {error}") from error
    found = getattr(module, function, None)
    if not callable(found):
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        hint = suggest(function, functions) or f"; it has {', '.join(functions) or 'none'}"
        raise CalibrationError(f"{file!r} has no function {function!r}{hint}")
    made: Callable[..., Any] = found
    return made
