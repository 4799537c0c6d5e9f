"""A network takes pictures as an array of one size: resized, cropped, scaled, normalized, in its order of axes.

For every channel c of a pixel p (0 to 255): ``x = (p * scale - mean[c]) / std[c]``; a scale that is not given is 1/255.
Resizing and cropping round as torchvision's ``Resize`` and ``CenterCrop`` do, padding as Ultralytics' letterbox does.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import CalibrationError, OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

    from .model_inputs import Input

RESIZES = ("shortest", "stretch", "letterbox")
LAYOUTS = ("NCHW", "NHWC")
COLORS = {"RGB": 3, "BGR": 3, "L": 1}
CHANNEL_COUNTS = (1, 3, 4)
LETTERBOX_GRAY = 114

Size = int | tuple[int, int]


@dataclass(frozen=True)
class PictureToArray:
    """How a picture becomes one sample without a batch axis. What is None is taken from the model's input.

    ``size``: pixels of the shorter side (resize="shortest"), or (height, width); ``crop``: the middle (height, width);
    ``mean``, ``std``: one number, or one per channel; ``layout``: NCHW or NHWC; ``color``: RGB, BGR or L (gray).
    A recipe takes its sizes from the model, or makes ``otherwise`` pixels where that leaves them open; ``share`` is the
    part of the resized picture that its crop leaves, and ``optional`` names what an input of pixels does without.

    Raises:
        OptionError: a value that cannot be.
    """

    size: Size | None = None
    resize: str | None = None
    crop: Size | None = None
    mean: float | Sequence[float] | None = None
    std: float | Sequence[float] | None = None
    scale: float | None = None
    layout: str | None = None
    color: str | None = None
    share: float | None = None
    otherwise: int | None = None
    optional: frozenset[str] = frozenset()
    raw: bool = False
    fixed: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, known in (("resize", RESIZES), ("layout", LAYOUTS), ("color", tuple(COLORS))):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise OptionError(f"{name} is one of {', '.join(known)}, not {value!r}")
        for name in ("size", "crop"):
            _check_size(name, getattr(self, name))
        if self.resize == "shortest" and isinstance(self.size, tuple):
            raise OptionError(f"resize='shortest' takes one number as its size, not {self.size}; or resize='stretch'")
        if self.std is not None and not all(_numbers(self.std)):
            raise OptionError(f"std divides, so it holds no 0: {self.std!r}")

    def fitted(self, taken: Input) -> PictureToArray:
        """With everything that the model's input says, and checked against it.

        Raises:
            CalibrationError: the input takes no pictures, or none of this size or number of channels.
        """
        if taken.shape is not None and len(taken.shape) not in (3, 4):
            raise CalibrationError(f"the input {taken.name} takes {taken.describe()}, which is no picture")
        dims = (taken.shape or (None, None, None))[-3:]
        layout = self.layout or ("NHWC" if dims[2] in CHANNEL_COUNTS and dims[0] not in CHANNEL_COUNTS else "NCHW")
        channels, *sides = (dims[2], *dims[:2]) if layout == "NHWC" else dims
        color = self.color or ("L" if channels == 1 else "RGB")
        if channels not in (None, COLORS[color]):
            raise CalibrationError(
                f"the input {taken.name} takes {taken.describe()}: {channels} channels in {layout}, but pictures in "
                f"{color} have {COLORS[color]}; {_other_channels(channels, layout)}"
            )
        fixed = (sides[0], sides[1]) if sides[0] is not None and sides[1] is not None else None
        form = replace(self, layout=layout, color=color, fixed=fixed)._with_type(taken)._with_size(taken)
        for name in ("mean", "std"):
            if (value := getattr(form, name)) is not None and len(_numbers(value)) not in (1, COLORS[color]):
                raise OptionError(f"{name} holds {len(_numbers(value))} numbers for {COLORS[color]} channels ({color})")
        return form

    def _with_type(self, taken: Input) -> PictureToArray:
        if taken.dtype is None or taken.dtype.kind == "f":
            return self
        if taken.dtype != np.uint8:
            raise CalibrationError(
                f"the input {taken.name} takes {taken.describe()}: pictures become float or uint8; say how with "
                "transform= (--preprocess FILE.py:FUNCTION)"
            )
        given = [name for name in ("mean", "std", "scale") if getattr(self, name) is not None]
        given = [name for name in given if name not in self.optional]
        if given:
            raise CalibrationError(
                f"the input {taken.name} takes uint8, which are the pixels themselves; leave out {', '.join(given)}"
            )
        return replace(self, raw=True, mean=None, std=None, scale=None)

    def _with_size(self, taken: Input) -> PictureToArray:
        """Sizes that a recipe leaves to the model, and the refusal of those that it does not take."""
        target = self.fixed or (None if self.otherwise is None else _pair(self.otherwise))
        if self.size is self.crop is None and target is not None:
            if self.share is not None:
                return replace(self, size=round(min(target) / self.share), crop=target)
            if self.resize in ("stretch", "letterbox"):
                return replace(self, size=target)
        result = _pair(self.crop) if self.crop is not None else None
        if result is None and self.size is not None and self._how() != "shortest":
            result = _pair(self.size)
        if result is not None and self.fixed is not None and result != self.fixed:
            height, width = self.fixed
            flag = "crop" if self.crop is not None else "size"
            raise CalibrationError(
                f"the input {taken.name} takes pictures of {height}x{width} (height x width), but "
                f"{flag}={getattr(self, flag)} makes {result[0]}x{result[1]}; {_say(flag, height, width)}"
            )
        return self

    def _how(self) -> str:
        return self.resize or ("stretch" if isinstance(self.size, tuple) else "shortest")

    def __call__(self, picture: Image.Image, name: str = "the picture") -> NDArray[Any]:
        """[C, H, W] or [H, W, C]: float32, or uint8 where the model takes pixels themselves.

        Raises:
            CalibrationError: the model does not take its size; the message says what it takes.
        """
        color = self.color or "RGB"
        original = picture.size
        picture = _resized(_in_color(picture, "L" if color == "L" else "RGB"), self.size, self._how())
        if self.crop is not None:
            picture = _cropped(picture, _pair(self.crop), name)
        height, width = picture.height, picture.width
        if self.fixed is not None and (height, width) != self.fixed:
            raise CalibrationError(
                f"{name} is {original[1]}x{original[0]} (height x width) and becomes {height}x{width}, but the model "
                f"takes {self.fixed[0]}x{self.fixed[1]}; {_say('size', *self.fixed)}"
            )
        pixels = np.asarray(picture, dtype=np.uint8).reshape(height, width, COLORS[color])
        if color == "BGR":
            pixels = pixels[..., ::-1]
        array = pixels if self.raw else self._normalized(pixels)
        return np.ascontiguousarray(array if self.layout == "NHWC" else array.transpose(2, 0, 1))

    def _normalized(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        values: NDArray[Any] = pixels.astype(np.float32)
        values = values / np.float32(255) if self.scale is None else values * np.float32(self.scale)
        if self.mean is not None:
            values = values - np.asarray(_numbers(self.mean), np.float32)
        if self.std is not None:
            values = values / np.asarray(_numbers(self.std), np.float32)
        return values


def _numbers(value: float | Sequence[float]) -> list[float]:
    return [float(entry) for entry in value] if isinstance(value, Sequence) else [float(value)]


def _pair(size: Size) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)


def _check_size(name: str, value: object) -> None:
    if value is None:
        return
    sides = value if isinstance(value, tuple) and len(value) == 2 else (value,)
    if not all(isinstance(side, int) and not isinstance(side, bool) and side > 0 for side in sides):
        raise OptionError(f"{name} is a number of pixels or (height, width), not {value!r}")


def _say(flag: str, height: int, width: int) -> str:
    size = str(height) if height == width else f"({height}, {width})"
    typed = size if height == width else f"{height}x{width}"
    if flag == "crop":
        return f"say crop={size} (--crop {typed})"
    return f"say size={size}, resize='stretch' (--resize {typed} --fit stretch), or crop={size} (--crop {typed})"


def _other_channels(channels: int | None, layout: str) -> str:
    color = next((name for name, count in COLORS.items() if count == channels), None)
    if color is not None:
        return f"say color={color!r} (--color {color})"
    other = "NHWC" if layout == "NCHW" else "NCHW"
    return f"say layout={other!r} (--layout {other}), or make them with transform= (--preprocess FILE.py:FUNCTION)"


def _in_color(picture: Image.Image, mode: str) -> Image.Image:
    """In RGB or gray; transparent parts show white, and 16-bit gray keeps its upper eight bits."""
    from PIL import Image

    if picture.mode.startswith("I;16"):
        picture = Image.fromarray((np.asarray(picture).astype(np.uint16) >> 8).astype(np.uint8))
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        rgba = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", rgba.size, "white"), rgba)
    return picture if picture.mode == mode else picture.convert(mode)


def _resized(picture: Image.Image, size: Size | None, how: str) -> Image.Image:
    from PIL import Image

    if size is None:
        return picture
    if how == "shortest":
        side = size if isinstance(size, int) else min(size)
        shorter, longer = sorted(picture.size)
        other = int(side * longer / shorter)
        target = (side, other) if picture.width <= picture.height else (other, side)
        return picture if picture.size == target else picture.resize(target, Image.Resampling.BILINEAR)
    height, width = _pair(size)
    if how == "stretch":
        same = picture.size == (width, height)
        return picture if same else picture.resize((width, height), Image.Resampling.BILINEAR)
    ratio = min(height / picture.height, width / picture.width)
    inner = (max(1, round(picture.width * ratio)), max(1, round(picture.height * ratio)))
    canvas = Image.new(picture.mode, (width, height), (LETTERBOX_GRAY,) * len(picture.getbands()))
    # Half of an odd rest goes up and left, as in Ultralytics' LetterBox.
    left, top = (math.floor((whole - part) / 2) for whole, part in ((width, inner[0]), (height, inner[1])))
    canvas.paste(picture if picture.size == inner else picture.resize(inner, Image.Resampling.BILINEAR), (left, top))
    return canvas


def _cropped(picture: Image.Image, size: tuple[int, int], name: str) -> Image.Image:
    height, width = size
    if picture.height < height or picture.width < width:
        raise CalibrationError(
            f"{name} is {picture.height}x{picture.width} (height x width) before the crop of {height}x{width}; "
            f"say size={max(height, width)} or more (--resize {max(height, width)})"
        )
    top, left = round((picture.height - height) / 2.0), round((picture.width - width) / 2.0)
    return picture.crop((left, top, left + width, top + height))
