"""Where the compiled custom-op library is, and how a session gets it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from ort_vitis_plugin.errors import LibraryNotFoundError, UnsupportedError

if TYPE_CHECKING:
    import onnxruntime

LIBRARY_NAME = "libort_vitis_ops.dll" if sys.platform == "win32" else "libort_vitis_ops.so"
PACKAGE = Path(__file__).resolve().parent.parent


def _places() -> Iterator[Path]:
    """Beside the package; in the build folder of a source checkout; where the installed distribution put it."""
    yield PACKAGE / LIBRARY_NAME
    if (PACKAGE.parent / "CMakeLists.txt").is_file():
        yield PACKAGE.parent / "build" / LIBRARY_NAME
    try:
        installed = metadata.distribution("ort-vitis-plugin")
    except metadata.PackageNotFoundError:
        return
    yield Path(str(installed.locate_file(f"{PACKAGE.name}/{LIBRARY_NAME}")))


def find_library() -> Path | None:
    """The library, or None where none was built."""
    return next((place for place in _places() if place.is_file()), None)


def get_library_path(device: str = "cpu") -> str:
    """Path of the custom-op library for ``SessionOptions.register_custom_ops_library``.

    Raises:
        UnsupportedError: there is no library for the device.
        LibraryNotFoundError: it was not built here.
    """
    if device.lower() != "cpu":
        raise UnsupportedError(
            f"There is no custom-op library for device {device!r}; use 'cpu': ONNX Runtime then runs these ops on the "
            "CPU, also in a session of another execution provider"
        )
    library = find_library()
    if library is None:
        looked = ", ".join(str(place) for place in dict.fromkeys(_places()))
        raise LibraryNotFoundError(
            f"{LIBRARY_NAME} was not built (looked at {looked}). Install a C++17 compiler and reinstall the package, "
            "or in a source checkout run: cmake -S . -B build && cmake --build build. Models written by this package "
            "also run without it, through the functions that they carry"
        )
    return str(library)


def register(session_options: onnxruntime.SessionOptions) -> bool:
    """Give the custom ops to sessions made with these options; False where no library was built.

    A second call on the same options does nothing: the library marks the options that it has seen.
    """
    library = find_library()
    if library is None:
        return False
    session_options.register_custom_ops_library(str(library))
    return True
