"""calibration_cache_path names onnxruntime's JSON file of ranges: what it cannot serve is refused before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..calibration.ranges_file import keeps_ranges_of, read_ranges
from ..errors import CalibrationError, OptionError, UnsupportedError

if TYPE_CHECKING:
    from ..request.settings import Settings


def range_file(settings: Settings) -> Path | None:
    """The file of the request's calibration_cache_path."""
    given = settings.call.calibration_cache_path
    return Path(given) if given is not None else None


def check_range_file(settings: Settings) -> None:
    """Refuse, before any work, a file that does not fit the request.

    Raises:
        UnsupportedError: the method keeps no ranges in it, or bodies are quantized.
        OptionError: a calibration is given, too.
        CalibrationError: there is neither a reader nor the file, or the file is of another method.
    """
    path = range_file(settings)
    if path is None:
        return
    method = settings.method.key
    if not keeps_ranges_of(method):
        raise UnsupportedError(
            f"calibration_cache_path={str(path)!r} keeps ranges of onnxruntime's methods, but calibrate_method is "
            f"{method}; extra_options={{'CalibrationCache': ...}} names a file that serves every method"
        )
    if settings.quantizes_bodies:
        raise UnsupportedError(
            f"calibration_cache_path={str(path)!r} has no ranges of tensors inside If, Loop and Scan; with "
            "EnableSubgraph use extra_options={'CalibrationCache': ...}"
        )
    if path.exists():
        if settings.request.calibration is not None:
            raise OptionError(f"calibration and calibration_cache_path={str(path)!r} both give ranges; leave one out")
        read_ranges(path, method)
    elif settings.request.reader is None and settings.request.calibration is None:
        raise CalibrationError(
            f"there is no calibration_data_reader, and calibration_cache_path {path} does not exist; give one of them"
        )
