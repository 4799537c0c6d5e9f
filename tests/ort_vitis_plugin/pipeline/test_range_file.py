"""What onnxruntime's JSON file of ranges cannot serve is refused before any work."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ort_vitis_plugin.errors import CalibrationError, UnsupportedError
from ort_vitis_plugin.pipeline.range_file import check_range_file, range_file
from ort_vitis_plugin.testing import plain_context

REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a method that is not onnxruntime's": ({}, UnsupportedError, "keeps ranges of onnxruntime's methods"),
    "bodies": (
        {"calibrate_method": "MinMax", "EnableSubgraph": True},
        UnsupportedError,
        "no ranges of tensors inside If",
    ),
    "neither file nor samples": ({"calibrate_method": "MinMax"}, CalibrationError, "does not exist; give one of them"),
}


@pytest.mark.parametrize(("options", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path) -> None:
    path = str(tmp_path / "ranges.json")
    settings = plain_context(CalibrationCachePath=path, **options).settings
    assert range_file(settings) == Path(path)
    with pytest.raises(error, match=message):
        check_range_file(settings)


def test_no_file_is_no_question() -> None:
    settings = plain_context(EnableSubgraph=True).settings
    assert range_file(settings) is None
    check_range_file(settings)


def test_a_file_that_is_still_to_be_written_needs_samples(tmp_path: Path) -> None:
    path = str(tmp_path / "ranges.json")
    check_range_file(plain_context(CalibrationCachePath=path, calibrate_method="MinMax", reader=[{}]).settings)
