"""The library is found wherever it may be, schemas are registered on demand, and importing does nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest

from ort_vitis_plugin import custom_ops
from ort_vitis_plugin.custom_ops import library
from ort_vitis_plugin.errors import LibraryNotFoundError, UnsupportedError


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package folder without a library, and no distribution."""

    def missing(name: str) -> Any:
        raise library.metadata.PackageNotFoundError(name)

    package = tmp_path / "checkout" / "ort_vitis_plugin"
    package.mkdir(parents=True)
    monkeypatch.setattr(library, "PACKAGE", package)
    monkeypatch.setattr(library.metadata, "distribution", missing)
    return package


def test_no_library(nowhere: Path) -> None:
    with pytest.raises(LibraryNotFoundError, match=r"was not built .*cmake -S \. -B build") as caught:
        custom_ops.get_library_path()
    assert str(nowhere) in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert custom_ops.find_library() is None
    assert custom_ops.register(ort.SessionOptions()) is False


def test_beside_the_package(nowhere: Path) -> None:
    (nowhere / library.LIBRARY_NAME).touch()
    assert custom_ops.get_library_path() == str(nowhere / library.LIBRARY_NAME)


def test_in_a_checkout_after_a_build(nowhere: Path) -> None:
    build = nowhere.parent / "build"
    build.mkdir()
    (build / library.LIBRARY_NAME).touch()
    assert custom_ops.find_library() is None  # a folder called build beside an installed package means nothing
    (nowhere.parent / "CMakeLists.txt").touch()
    assert custom_ops.get_library_path("CPU") == str(build / library.LIBRARY_NAME)


def test_in_the_installed_distribution(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable install imports the checkout and keeps the library in site-packages."""
    site = nowhere.parent.parent / "site-packages"
    (site / "ort_vitis_plugin").mkdir(parents=True)
    (site / "ort_vitis_plugin" / library.LIBRARY_NAME).touch()

    class Distribution:
        def locate_file(self, name: str) -> Path:
            return site / name

    monkeypatch.setattr(library.metadata, "distribution", lambda name: Distribution())
    assert custom_ops.get_library_path() == str(site / "ort_vitis_plugin" / library.LIBRARY_NAME)


@pytest.mark.parametrize("device", ["gpu", "cuda", "ROCM", ""])
def test_other_devices(device: str) -> None:
    with pytest.raises(UnsupportedError, match=f"device '{device}'; use 'cpu'"):
        custom_ops.get_library_path(device)


def test_importing_changes_nothing() -> None:
    """No numpy-heavy module, no schema, before a name is used."""
    code = (
        "import sys, ort_vitis_plugin.custom_ops as ops\n"
        "assert not [m for m in sys.modules if m.startswith('ort_vitis_plugin.custom_ops.')]\n"
        "import onnx.defs\n"
        "ops.quantize_linear, ops.reference_ops\n"
        "assert not onnx.defs.has('VitisQuantizeLinear', 'com.vai.quantize')\n"
        "ops.register_schemas()\n"
        "assert onnx.defs.has('VitisQuantizeLinear', 'com.vai.quantize')\n"
    )
    root = Path(__file__).resolve().parents[3]
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{root}:{root / 'plugins'}", "PATH": "", "ORT_VITIS_ATTACH": "0"},
    )
    assert result.returncode == 0, result.stderr
