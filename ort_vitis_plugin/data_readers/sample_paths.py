"""Samples that lie in files: which files these are."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .data_objects import CalibrationData
from .files import ARRAYS, ArrayFiles, files_below
from .items import Numbered, Rows
from .pictures import SUFFIXES, Pictures


def sample_paths(source: Any) -> list[Path]:
    """The files that a caller's samples are read from, as far as what was given tells."""
    if isinstance(source, CalibrationData):
        source = source.items
    if isinstance(source, Numbered):
        source = source.source
    if isinstance(source, ArrayFiles):
        return source.files
    if isinstance(source, Pictures):
        source = source.folder
    if isinstance(source, Rows):
        source = source.name
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source):
        return []
    try:
        path = Path(source)
        return files_below(path, (*ARRAYS, *SUFFIXES)) if path.is_dir() else [path]
    except (OSError, ValueError):
        return []  # told where it is read
