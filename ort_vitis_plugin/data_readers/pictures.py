"""A folder of pictures is a calibration set; folders in it that hold the pictures are their classes."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CalibrationError, OptionError, UnsupportedError, suggest
from .files import files_below
from .picture_recipes import preprocess_named
from .picture_to_array import PictureToArray, Size

if TYPE_CHECKING:
    from PIL import Image

    from .model_inputs import Input

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
BROKEN = 10  # pictures that may be unreadable

# What Pillow's decoders raise for broken files, beside its own errors (which are OSErrors).
_DECODING = (OSError, ValueError, SyntaxError, EOFError, IndexError, struct.error, zlib.error)


class BrokenPictureWarning(UserWarning):
    """A picture cannot be read and is left out."""


class Pictures:
    """Pictures of a folder (and all folders in it), turned into what a network takes; or one picture.

    What is not given is taken from the model's input: layout, color by its channels, and that pixels stay uint8 where
    the input is uint8 (else they become float32, times ``scale``, by default 1/255).

    Args:
        folder: the folder, or one file; png, jpg, webp and bmp.
        size: pixels of the shorter side (resize="shortest"), or (height, width).
        resize: "shortest", "stretch" or "letterbox"; by default "shortest" for one number, else "stretch".
        crop: the middle (height, width), or one number for both.
        mean, std: one number or one per channel, of pixels times ``scale``: (pixel * scale - mean) / std.
        layout: "NCHW" or "NHWC".
        color: "RGB", "BGR" or "L" (gray).
        preprocess: "imagenet", "yolo" or "zero-one", over which the other arguments prevail; "FILE.py:FUNCTION", or a
            function of an upright PIL.Image that returns the sample as an array.
        classes: the names of the class folders in the order of the model's outputs; by default they are sorted, by
            number where all are numbers (which then are the classes).
        broken: how many pictures may be unreadable; each is named by a BrokenPictureWarning and left out.

    Raises:
        CalibrationError: there is no picture, a class folder is none of ``classes``, or more than ``broken`` are
            unreadable.
        UnsupportedError: Pillow is not installed (the extra ``[images]``).
    """

    single, table, renames = True, False, False

    def __init__(
        self,
        folder: str | Path,
        size: Size | None = None,
        resize: str | None = None,
        crop: Size | None = None,
        mean: float | Sequence[float] | None = None,
        std: float | Sequence[float] | None = None,
        scale: float | None = None,
        layout: str | None = None,
        color: str | None = None,
        *,
        preprocess: str | Callable[..., Any] | None = None,
        classes: Sequence[str] | None = None,
        broken: int = BROKEN,
    ) -> None:
        _need_pillow()
        self.folder = Path(folder)
        self._files = [self.folder] if self.folder.is_file() else files_below(self.folder, SUFFIXES)
        if not self._files:
            what = "holds no picture" if self.folder.is_dir() else "does not exist"
            raise CalibrationError(f"the folder {str(folder)!r} {what} ({', '.join(SUFFIXES)})")
        given = {
            "size": tuple(size) if isinstance(size, list) else size,
            "resize": resize,
            "crop": tuple(crop) if isinstance(crop, list) else crop,
            "mean": mean,
            "std": std,
            "scale": scale,
            "layout": layout,
            "color": color,
        }
        self.preprocess = _with(preprocess, {key: value for key, value in given.items() if value is not None})
        self.classes, self._labels = self._classes(classes)
        self._allowed, self._broken, self._told = broken, dict[int, str](), set[int]()
        self._fitted: Callable[..., Any] = self.preprocess

    def __len__(self) -> int:
        return len(self._files)

    @property
    def count(self) -> int | None:
        """How many there are, broken ones included."""
        return len(self._files)

    @property
    def labels(self) -> tuple[int, ...] | None:
        """The class of each picture, in the order of the files; None where no folder says it."""
        return self._labels

    def label(self, number: int) -> int | None:
        """The class of one picture."""
        return None if self._labels is None else self._labels[number]

    def where(self, number: int) -> str:
        """The picture's file, for messages."""
        return repr(str(self._files[number]))

    def prepare(self, inputs: Mapping[str, Input]) -> None:
        """Take from the model what was not said; of several inputs the one with rank 4 takes pictures.

        Raises:
            CalibrationError: the model does not take such pictures.
        """
        if not isinstance(self.preprocess, PictureToArray):
            return
        taking = [taken for taken in inputs.values() if taken.shape is None or len(taken.shape) == 4]
        if len(inputs) == 1:
            taking = list(inputs.values())
        if len(taking) != 1:
            known = "; ".join(f"{taken.name} {taken.describe()}" for taken in inputs.values())
            raise CalibrationError(f"the model has no single input for pictures ({known}); say inputs='NAME'")
        self._fitted = self.preprocess.fitted(taking[0])

    def take(self, numbers: Iterable[int] | None) -> Iterator[tuple[int, Any]]:
        """The pictures as arrays, each with its number; broken ones are left out.

        Raises:
            CalibrationError: more pictures are broken than may be.
        """
        found = False
        for number in range(len(self._files)) if numbers is None else numbers:
            picture = self._read(number)
            if picture is None:
                continue
            found = True
            self._warn_of_broken()
            if isinstance(self._fitted, PictureToArray):
                yield number, self._fitted(picture, self.where(number))
            else:
                yield number, picture
        if not found:
            first = next(iter(self._broken.values()), "none was asked for")
            raise CalibrationError(
                f"no picture of {str(self.folder)!r} can be read ({first}); give files that open as "
                f"{', '.join(SUFFIXES)}"
            )
        self._warn_of_broken()

    @property
    def function(self) -> Callable[..., Any] | None:
        """The user's own function of a picture."""
        return None if isinstance(self.preprocess, PictureToArray) else self.preprocess

    def _read(self, number: int) -> Image.Image | None:
        from PIL import Image, ImageOps, UnidentifiedImageError

        if number in self._broken:
            return None
        file = self._files[number]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of Pillow, on what it mends
                with Image.open(file) as opened:
                    opened.load()
                    return _upright(ImageOps.exif_transpose(opened), self.function is not None)
        except (*_DECODING, Image.DecompressionBombError) as error:
            why = "it is no picture" if isinstance(error, UnidentifiedImageError) else error
            self._note_broken(number, f"{str(file)!r} cannot be read: {why}")
            return None

    def _note_broken(self, number: int, text: str) -> None:
        self._broken[number] = text
        if len(self._broken) > self._allowed:
            names = ", ".join(self.where(each) for each in self._broken)
            raise CalibrationError(
                f"{len(self._broken)} pictures cannot be read, and {self._allowed} may be: {names} ({text}); remove "
                f"them, or say broken={len(self._broken)} (--broken {len(self._broken)}) or more"
            )

    def _warn_of_broken(self) -> None:
        """Tell of each once, as soon as there is a picture that can be read: else the error tells."""
        for number, text in self._broken.items():
            if number not in self._told:
                self._told.add(number)
                warnings.warn(f"the picture {text}; it is left out", BrokenPictureWarning, stacklevel=3)

    def _classes(self, given: Sequence[str] | None) -> tuple[tuple[str, ...], tuple[int, ...] | None]:
        """The class names, and the class of each file."""
        if self.folder.is_file():
            return (), None
        folders = [file.relative_to(self.folder).parts[0:-1] for file in self._files]
        if not all(folders):
            return (), None
        found = sorted({parts[0] for parts in folders})
        if given is not None:
            unknown = [name for name in found if name not in given]
            if unknown:
                raise CalibrationError(
                    f"the folder {unknown[0]!r} of {str(self.folder)!r} is none of the classes "
                    f"{', '.join(given[:10])}{', ...' if len(given) > 10 else ''}{suggest(unknown[0], given)}"
                )
            return tuple(given), tuple(list(given).index(parts[0]) for parts in folders)
        if all(name.isascii() and name.isdigit() for name in found):
            return tuple(sorted(found, key=int)), tuple(int(parts[0]) for parts in folders)
        return tuple(found), tuple(found.index(parts[0]) for parts in folders)


def _with(preprocess: object, given: dict[str, Any]) -> Callable[..., Any]:
    if isinstance(preprocess, str):
        preprocess = preprocess_named(preprocess)
    if preprocess is None:
        preprocess = PictureToArray()
    if isinstance(preprocess, PictureToArray):
        return replace(preprocess, **given, optional=preprocess.optional - given.keys())
    if not callable(preprocess):
        raise OptionError(f"preprocess is a name or a function of a picture, not {preprocess!r}")
    if given:
        raise OptionError(f"a preprocess function makes the whole sample; leave out {', '.join(given)}")
    return preprocess


def _upright(picture: Image.Image, for_a_function: bool) -> Image.Image:
    """A picture that does not hang on its file; a user's function gets RGB."""
    return picture.convert("RGB") if for_a_function and picture.mode != "RGB" else picture.copy()


def _need_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError as error:
        raise UnsupportedError("pictures need Pillow: pip install 'ort-vitis-plugin[images]'") from error
